//! Reads a pprof file as a profile: its threads, stacks, contexts and samples, of one measure.
//!
//! It must never lose a sample, nor trust a number in a file. Labels are read as Vouch writes them.
//! Another program's labels are fields of contexts.

use std::io::BufRead;
use std::path::Path;

use indexmap::IndexMap;
use prost::Message;
use serde_json::Value;
use vouch_formats::pprof::{Profile as File, THREAD_ID, THREAD_LABELS};

use super::{Document, Meta, Profile, Samples, Thread};
use crate::document;
use crate::error::Error;
use crate::measure::Measure;
use columns::{Columns, Share};
use tables::Tables;

mod columns;
mod tables;

/// A larger file is refused, because all of it is in memory at once.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// A file that says that it has more samples is refused.
const MAX_SAMPLES: u64 = 20_000_000;
/// The thread of samples without a label that names one.
const NO_THREAD: &str = "[threads not separated]";

/// Reads the samples of a measure. Returns `None` if the file has another format.
pub fn read(file: &Path, measure: Measure) -> Result<Option<Profile>, Error> {
    let path = || file.to_owned();
    let Some(message) = message(file)? else { return Ok(None) };
    let missing = || measure.missing(file);
    let columns = Columns::find(&message, measure).ok_or_else(missing)?;
    let shares = columns.shares(&message).ok_or_else(|| Error::NegativePprof(path()))?;
    let samples = shares.iter().fold(0_u64, |sum, share| sum.saturating_add(share.samples));
    if samples > MAX_SAMPLES {
        return Err(Error::PprofSamples { path: path(), most: MAX_SAMPLES });
    }
    if samples == 0 && measure != Measure::Cpu {
        return Err(missing());
    }
    let document = to_document(&message, &shares, columns.counted.each_ms());
    let profile = Profile::of_measure(file, document, Some(columns.counted))?;
    Ok(Some(Profile { has_times: false, ..profile }))
}

/// Returns the message in a file, or `None` if the file has another format.
fn message(file: &Path) -> Result<Option<File>, Error> {
    let path = || file.to_owned();
    // The bytes of a pipe can be read only once, and the usual format needs them.
    if !file.is_file() {
        return Ok(None);
    }
    let mut bytes = document::unpacked(file)?;
    // The reader of the usual format reports a damaged file.
    let Ok(first) = bytes.fill_buf() else { return Ok(None) };
    if !is_pprof(first) {
        return Ok(None);
    }
    let message = document::bytes(file, bytes, MAX_FILE_BYTES)?;
    let message =
        message.ok_or_else(|| Error::PprofTooLarge { path: path(), most_mib: MAX_FILE_BYTES >> 20 })?;
    File::decode(&*message).map(Some).map_err(|why| Error::DamagedPprof { path: path(), why })
}

/// True if a file that begins with these bytes is a pprof file.
pub fn is_pprof(mut bytes: &[u8]) -> bool {
    // Go's runtime writes numbers, such as the time, or the type of the period before the sample
    // types.
    loop {
        bytes = match bytes {
            [0x38 | 0x40 | 0x48 | 0x50 | 0x60 | 0x70, rest @ ..] => {
                let Some(last) = rest.iter().take(10).position(|byte| *byte < 0x80) else { return false };
                &rest[last + 1..]
            }
            [0x5a, length @ 0..0x80, rest @ ..] if rest.len() >= usize::from(*length) => {
                &rest[usize::from(*length)..]
            }
            _ => break,
        };
    }
    // The first sample type: its tag, its length, and the tag of its name or unit.
    matches!(bytes, [0x0a, 0..0x80, 0x08 | 0x10, ..])
}

/// Makes the document with the samples of one measure.
fn to_document(file: &File, shares: &[Share], interval_ms: Option<f64>) -> Document<Thread> {
    let mut tables = Tables::new(file);
    let mut threads = IndexMap::<(&str, &str), Track>::new();
    // Rows of other measures have threads and contexts, too.
    for (row, share) in file.sample.iter().zip(shares) {
        let label = |key| file.label(row, key).filter(|text| !text.is_empty());
        let name = THREAD_LABELS.into_iter().find_map(label).unwrap_or(NO_THREAD);
        let context = tables.context(row);
        let track = threads.entry((name, label(THREAD_ID).unwrap_or_default())).or_default();
        if share.samples > 0 {
            track.add(tables.stack(row), context, share);
        }
    }
    let threads = threads.into_iter().map(|((name, id), track)| track.thread(name, id)).collect();
    let (shared, contexts, categories) = tables.into_document();
    let meta = Meta {
        interval: interval_ms.unwrap_or(1.0),
        vouch_contexts: Some(contexts),
        report: Value::Null,
        vouch_process: None,
        vouch_processes: None,
        start_time: Value::Null,
        profiling_start_time: Value::Null,
        profiling_end_time: Value::Null,
        categories,
    };
    Document { meta, shared, threads }
}

/// The columns of a thread's samples. Memory is by rows: one row may be millions of samples.
#[derive(Default)]
struct Track {
    stack: Vec<Option<usize>>,
    weight: Vec<u64>,
    counts: Vec<u64>,
    context: Vec<Option<usize>>,
}

impl Track {
    /// Adds the samples of a row. They have the row's weight together.
    fn add(&mut self, stack: usize, context: Option<usize>, share: &Share) {
        self.stack.push(Some(stack));
        self.weight.push(share.weight);
        self.counts.push(share.samples);
        self.context.push(context);
    }

    fn thread(self, name: &str, id: &str) -> Thread {
        let Self { stack, weight, counts, context } = self;
        let samples = Samples {
            stack,
            weight: Some(weight),
            vouch_context: Some(context),
            time_deltas: None,
            counts: Some(counts),
        };
        let tid = id.parse().map_or(Value::Null, |id: u64| id.into());
        Thread { name: name.to_owned(), tid, vouch_tids: None, samples }
    }
}
