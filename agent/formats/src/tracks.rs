//! Which tracks the timeline gets, and in which order.
//!
//! A thread gets a track of its own, until there are more than [`LIMIT`]: with 10,000 tracks the
//! front-end's client took 2.7 GB and 23 s to list them, with 1,000 0.4 GB and 1.3 s. Then threads
//! whose names differ in digits alone become one track, the largest such family first; and if that
//! is not enough, the least busy tracks become one. A fold must never lose a sample.
//!
//! The main thread comes first, then the families that ran Java, then the JVM's own, each by how
//! busy they are, and a family's threads as they began: a pool stays together, and the busiest
//! stands at the top. What took less than a hundredth of the time is hidden at first, unless most
//! of the time is in such.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;
use vouch_recording::{Recording, SplitThreads, Thread, VIRTUAL_TID_BIT, family};
use vouch_report::grouped;

use crate::meta::{Meta, VirtualThreads};

/// So many virtual threads get a track of their own, if any does.
const VIRTUALS: usize = 500;

/// The most tracks that a profile gets.
const LIMIT: usize = 1000;

/// The most tracks that are shown at first, beside that of the main thread,
const SHOWN: usize = 20;
/// and the least that one of these must have of the time: a hundredth. But where the work is spread
/// over many threads that have less, the busiest of them are shown, too, until so many tenths of
/// the time can be seen.
const SHARE: u64 = 100;
const TENTHS: u64 = 9;

pub struct Track<'r> {
    pub name: Cow<'r, str>,
    pub tid: Tid,
    pub is_main: bool,
    pub threads: Vec<&'r Thread>,
}

/// A thread id that stands once in the file. A thread that was renamed has two tracks: `1234` and
/// `1234.2`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Tid {
    First(u64),
    Again(String),
}

impl<'r> Track<'r> {
    fn of_one(thread: &'r Thread) -> Self {
        let name = Cow::Borrowed(thread.name());
        Self { name, tid: Tid::of(thread), is_main: false, threads: vec![thread] }
    }

    fn of_many(name: &str, threads: Vec<&'r Thread>) -> Self {
        let name = Cow::Owned(format!("{name} ({} threads)", grouped(threads.len() as u64)));
        Self { name, tid: Tid::of(threads[0]), is_main: false, threads }
    }

    pub fn weight(&self) -> u64 {
        weight(&self.threads)
    }

    pub fn started_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.started_ns()).min().unwrap_or(0)
    }

    /// None while one of its threads lives.
    pub fn ended_ns(&self) -> Option<u64> {
        let ends = self.threads.iter().map(|thread| thread.ended_ns());
        ends.reduce(|last, end| Some(last?.max(end?))).flatten()
    }
}

impl Tid {
    fn of(thread: &Thread) -> Self {
        match thread.tid() {
            tid if tid & VIRTUAL_TID_BIT == 0 => Self::First(tid),
            tid => Self::Again(format!("virtual-{}", tid & !VIRTUAL_TID_BIT)),
        }
    }
}

/// The virtual threads that are to have tracks of their own.
pub fn apart(recording: &Recording, meta: &Meta) -> SplitThreads {
    let most = match meta.virtual_threads {
        VirtualThreads::Carrier => 0,
        VirtualThreads::Own => VIRTUALS,
    };
    SplitThreads::by_virtual_thread(recording, most, meta.report.run.interval_ns)
}

/// The tracks for these threads, in the order of the file. There is always one: without it, the
/// front-end refuses the file.
pub fn tracks<'r>(threads: &[&'r Thread]) -> Vec<Track<'r>> {
    // The JVM's own: a program may call other threads "main" too.
    let main = threads.iter().position(|thread| thread.name() == "main");
    let mut families: HashMap<String, Vec<&Thread>> = HashMap::new();
    for (row, thread) in threads.iter().copied().enumerate() {
        if Some(row) != main {
            families.entry(family(thread.name())).or_default().push(thread);
        }
    }
    let mut families: Vec<_> = families.into_iter().collect();
    families
        .sort_by_cached_key(|(name, threads)| (java(threads) == 0, Reverse(weight(threads)), name.clone()));

    let smallest_folded = smallest_folded(families.iter().map(|(_, threads)| threads.len()), threads.len());
    let mut tracks = Vec::new();
    if let Some(row) = main {
        tracks.push(Track { is_main: true, ..Track::of_one(threads[row]) });
    }
    for (name, threads) in families {
        if threads.len() >= smallest_folded {
            tracks.push(Track::of_many(&name, threads));
        } else {
            tracks.extend(threads.into_iter().map(Track::of_one));
        }
    }
    if tracks.len() > LIMIT {
        // Every family is one track by now, and they stand in the order of how busy they are with
        // Java, and else.
        let rest = tracks.split_off(LIMIT - 1);
        let threads = rest.into_iter().flat_map(|track| track.threads).collect();
        tracks.push(Track::of_many("other threads", threads));
    }
    if tracks.is_empty() {
        let name = Cow::Borrowed("no thread was recorded");
        tracks.push(Track { name, tid: Tid::First(0), is_main: false, threads: Vec::new() });
    }
    tell_apart(&mut tracks);
    tracks
}

fn weight(threads: &[&Thread]) -> u64 {
    threads.iter().map(|thread| thread.weight()).sum()
}

/// What they spent in Java.
fn java(threads: &[&Thread]) -> u64 {
    threads.iter().map(|thread| thread.tally().weight.java()).sum()
}

/// The size from which on families are folded, so that the tracks stay within the limit if they
/// can.
fn smallest_folded(sizes: impl Iterator<Item = usize>, mut tracks: usize) -> usize {
    let mut sizes: Vec<usize> = sizes.filter(|&size| size > 1).collect();
    sizes.sort_unstable_by_key(|&size| Reverse(size));
    let mut smallest = usize::MAX;
    for size in sizes {
        if tracks <= LIMIT {
            break;
        }
        tracks -= size - 1;
        smallest = size;
    }
    smallest
}

fn tell_apart(tracks: &mut [Track<'_>]) {
    let mut seen: HashMap<u64, u32> = HashMap::new();
    for track in tracks {
        if let Tid::First(tid) = track.tid {
            let times = seen.entry(tid).or_default();
            *times += 1;
            if *times > 1 {
                track.tid = Tid::Again(format!("{tid}.{times}"));
            }
        }
    }
}

/// The tracks to show at first: the busiest, that which is selected, and the first, if it is the
/// main thread's, which heads the process, or has the marks that are of all the process.
pub fn shown(tracks: &[Track<'_>], first_has_marks: bool) -> Vec<usize> {
    let mut shown = by_weight(tracks);
    let all: u64 = tracks.iter().map(Track::weight).sum();
    let mut seen = 0_u64;
    shown.retain(|&track| {
        let weight = tracks[track].weight();
        let is_shown =
            weight.saturating_mul(SHARE) >= all || seen.saturating_mul(10) < all.saturating_mul(TENTHS);
        seen += weight;
        is_shown
    });
    shown.truncate(SHOWN);
    shown.push(selected(tracks));
    if tracks[0].is_main || first_has_marks {
        shown.push(0);
    }
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// The track to select at first: that which was busiest with Java, if there is one.
pub fn selected(tracks: &[Track<'_>]) -> usize {
    by_weight(tracks).into_iter().min_by_key(|&track| Reverse(java(&tracks[track].threads))).unwrap_or(0)
}

/// Those with samples, the busiest first.
fn by_weight(tracks: &[Track<'_>]) -> Vec<usize> {
    let mut busy: Vec<_> = (0..tracks.len()).filter(|&track| tracks[track].weight() > 0).collect();
    busy.sort_by_cached_key(|&track| Reverse(tracks[track].weight()));
    busy
}
