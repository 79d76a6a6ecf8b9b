//! Joins several profiles into one, on one clock: several processes, or several recordings of one
//! process.
//!
//! Equal rows of two profiles become one row. So a method that ran in two processes is one
//! function, and a call tree over both adds up. No sample may be counted twice or lost.
//!
//! # Invariants
//!
//! **Invariant 27.** Profiles that are put together keep every sample, once, with its stack, weight
//! and time. What cannot be added up is refused. Held by: `profile/tests/join`;
//! `java-tests/command`, with real processes.

mod categories;
mod clock;
mod contexts;
mod conversion;
mod head;
mod markers;
mod opened;
mod processes;
mod schemas;
mod tables;
mod tracks;

pub use contexts::ContextKind;
pub use opened::Source;
pub use processes::is_overlapping;

use crate::document::Part;
use crate::error::Error;

use categories::share_categories;
use clock::Clock;
use contexts::Contexts;
use conversion::Conversion;
use head::Head;
use opened::Opened;
use processes::Processes;
use schemas::Schemas;
use tables::Tables;
use tracks::Tracks;

/// The content of a joined profile, for messages to the user.
#[derive(Debug)]
pub struct Joined {
    pub processes: Vec<String>,
    pub tracks: usize,
    /// The files with another clock than the first file. They were aligned by the time of day.
    pub by_time_of_day: Vec<String>,
    /// Files that begin after the end of all earlier files, and the gap in milliseconds.
    pub gaps: Vec<(String, f64)>,
}

/// Makes one profile from several. An error names the file.
pub fn join(sources: Vec<Source>) -> Result<(Part, Joined), Error> {
    let mut opened = sources.into_iter().map(Opened::open).collect::<Result<Vec<_>, Error>>()?;
    let Some(first) = opened.first() else { return Err(Error::NothingToJoin) };
    for other in &opened[1..] {
        other.must_be_like(first)?;
    }
    share_categories(&mut opened)?;
    // The samples of a thread are appended, so the profiles must be in the order of time.
    let clock = Clock::new(&opened);
    opened.sort_by(|one, other| clock.begins(one).total_cmp(&clock.begins(other)));
    let gaps = clock.gaps(&opened);
    let processes = Processes::new(&opened, &clock)?;
    let interval_ms = opened::common_interval(&opened)?;
    let (mut tables, mut contexts, mut schemas) =
        (Tables::default(), Contexts::default(), Schemas::default());
    let (mut tracks, mut head) = (Tracks::default(), Head::new(interval_ms));
    for (at, mut opened) in opened.into_iter().enumerate() {
        let in_file = |wrong: Error| wrong.in_file(&opened.file);
        let row_map = tables.add(&opened.shared).map_err(in_file)?;
        let context = contexts.add(&opened.meta, &row_map).map_err(in_file)?;
        let kinds = schemas.add(&opened.meta).map_err(in_file)?;
        let (java, mut numbers) = head.report(&opened.meta).map_err(in_file)?;
        let mut conversion = Conversion {
            shift_ms: clock.shift_ms(&opened),
            weight: opened.intervals(interval_ms),
            interval_ms,
            row_map: &row_map,
            contexts: &context,
            kinds: &kinds,
            number: &mut |number| head.number(&mut numbers, number),
        };
        let threads = std::mem::take(&mut opened.threads);
        let counters = std::mem::take(&mut opened.counters);
        let rows = tracks.add(threads, |pid| processes.name(at, pid), &mut conversion).map_err(in_file)?;
        tracks.count(counters, &rows, |pid| processes.name(at, pid), &conversion).map_err(in_file)?;
        head.add(opened, &clock, &rows, java)?;
    }
    let joined = Joined {
        processes: processes.all(),
        tracks: tracks.len(),
        by_time_of_day: clock.by_time_of_day().to_vec(),
        gaps,
    };
    let document = head.finish(tables, contexts, schemas, tracks, &processes, &clock)?;
    Ok((document, joined))
}
