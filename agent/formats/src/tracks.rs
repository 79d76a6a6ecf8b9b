//! Divides threads into tracks of the timeline, and orders the tracks.
//!
//! Each thread has its own track, up to [`MAX_TRACKS`]. With 10,000 tracks the front-end's client
//! took 2.7 GB and 23 s to list them, with 1,000 it took 0.4 GB and 1.3 s. If there are more
//! threads, those with names that differ only in digits share one track, the largest such family
//! first. If that is not enough, the least busy tracks become one. No sample may be lost by that.
//!
//! The main thread comes first, then the families that ran Java, then threads of the JVM. Each
//! group is ordered by weight. The threads of a family are in the order in which they began, so a
//! pool stays together. Tracks with less than 1 % of the time are hidden at first, unless most of
//! the time is in such tracks.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;
use vouch_recording::{Recording, SplitThreads, Thread, VIRTUAL_TID_BIT, family};
use vouch_report::grouped;

use crate::meta::{Meta, VirtualThreads};

/// At most this many virtual threads have their own tracks, if the option asks for these.
const MAX_VIRTUAL_TRACKS: usize = 500;

/// A profile has at most this many tracks.
const MAX_TRACKS: usize = 1000;

/// At most this many tracks are visible at first, besides the main thread's.
const MAX_SHOWN_TRACKS: usize = 20;
/// A track is visible at first if its time, multiplied by this number, is at least all time.
const MIN_SHOWN_SHARE: u64 = 100;
/// Less busy tracks are also visible, the busiest first, until all visible tracks have this many
/// tenths of all time.
const SHOWN_TENTHS: u64 = 9;

/// A track of the timeline: one thread, or several that share it.
pub struct Track<'r> {
    pub name: Cow<'r, str>,
    pub tid: Tid,
    pub is_main: bool,
    pub threads: Vec<&'r Thread>,
}

/// The id of a track, which is unique in the file. A thread that was renamed has two tracks: `1234`
/// and `1234.2`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Tid {
    First(u64),
    Again(String),
}

impl<'r> Track<'r> {
    fn from_thread(thread: &'r Thread) -> Self {
        let name = Cow::Borrowed(thread.name());
        Self { name, tid: Tid::from_thread(thread), is_main: false, threads: vec![thread] }
    }

    fn from_threads(name: &str, threads: Vec<&'r Thread>) -> Self {
        let name = Cow::Owned(format!("{name} ({} threads)", grouped(threads.len() as u64)));
        Self { name, tid: Tid::from_thread(threads[0]), is_main: false, threads }
    }

    pub fn weight(&self) -> u64 {
        weight(&self.threads)
    }

    pub fn started_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.started_ns()).min().unwrap_or(0)
    }

    /// Returns when the last of the track's threads ended, or `None` if one of them had not ended.
    pub fn ended_ns(&self) -> Option<u64> {
        let ends = self.threads.iter().map(|thread| thread.ended_ns());
        ends.reduce(|last, end| Some(last?.max(end?))).flatten()
    }
}

impl Tid {
    fn from_thread(thread: &Thread) -> Self {
        match thread.tid() {
            tid if tid & VIRTUAL_TID_BIT == 0 => Self::First(tid),
            tid => Self::Again(format!("virtual-{}", tid & !VIRTUAL_TID_BIT)),
        }
    }
}

/// Returns the threads of a recording. Virtual threads are separate if the option asks for their
/// own tracks.
pub fn split_threads(recording: &Recording, meta: &Meta) -> SplitThreads {
    let max = match meta.virtual_threads {
        VirtualThreads::Carrier => 0,
        VirtualThreads::Own => MAX_VIRTUAL_TRACKS,
    };
    SplitThreads::by_virtual_thread(recording, max, meta.report.run.interval_ns)
}

/// Makes the tracks for these threads, in the order of the file. It makes at least one track, since
/// the front-end refuses a file without tracks.
pub fn tracks<'r>(threads: &[&'r Thread]) -> Vec<Track<'r>> {
    // The first thread of this name is the launcher's. A program may name other threads "main",
    // too.
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
        tracks.push(Track { is_main: true, ..Track::from_thread(threads[row]) });
    }
    for (name, threads) in families {
        if threads.len() >= smallest_folded {
            tracks.push(Track::from_threads(&name, threads));
        } else {
            tracks.extend(threads.into_iter().map(Track::from_thread));
        }
    }
    if tracks.len() > MAX_TRACKS {
        // Each family is one track by now. The tracks are ordered by whether they ran Java, then by
        // weight, so the least busy ones are at the end.
        let rest = tracks.split_off(MAX_TRACKS - 1);
        let threads = rest.into_iter().flat_map(|track| track.threads).collect();
        tracks.push(Track::from_threads("other threads", threads));
    }
    if tracks.is_empty() {
        let name = Cow::Borrowed("no thread was recorded");
        tracks.push(Track { name, tid: Tid::First(0), is_main: false, threads: Vec::new() });
    }
    number_repeated_tids(&mut tracks);
    tracks
}

fn weight(threads: &[&Thread]) -> u64 {
    threads.iter().map(|thread| thread.weight()).sum()
}

/// Returns the total weight of the threads' samples in Java.
fn java(threads: &[&Thread]) -> u64 {
    threads.iter().map(|thread| thread.tally().weight.java()).sum()
}

/// Returns the size from which on a family of threads gets a single track. With this size there are
/// at most [`MAX_TRACKS`] tracks, if that is possible.
fn smallest_folded(sizes: impl Iterator<Item = usize>, mut tracks: usize) -> usize {
    let mut sizes: Vec<usize> = sizes.filter(|&size| size > 1).collect();
    sizes.sort_unstable_by_key(|&size| Reverse(size));
    let mut smallest = usize::MAX;
    for size in sizes {
        if tracks <= MAX_TRACKS {
            break;
        }
        tracks -= size - 1;
        smallest = size;
    }
    smallest
}

fn number_repeated_tids(tracks: &mut [Track<'_>]) {
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

/// Returns the tracks to show at first: the busiest ones, the selected one, and sometimes the
/// first. The first is shown if it is the main thread's, or if it has the markers of the whole
/// process.
pub fn tracks_shown_first(tracks: &[Track<'_>], first_has_marks: bool) -> Vec<usize> {
    let mut shown = by_weight(tracks);
    let all: u64 = tracks.iter().map(Track::weight).sum();
    let mut seen = 0_u64;
    shown.retain(|&track| {
        let weight = tracks[track].weight();
        let is_shown = weight.saturating_mul(MIN_SHOWN_SHARE) >= all
            || seen.saturating_mul(10) < all.saturating_mul(SHOWN_TENTHS);
        seen += weight;
        is_shown
    });
    shown.truncate(MAX_SHOWN_TRACKS);
    shown.push(selected(tracks));
    if tracks[0].is_main || first_has_marks {
        shown.push(0);
    }
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// Returns the track to select at first, which is the one with the most time in Java.
pub fn selected(tracks: &[Track<'_>]) -> usize {
    by_weight(tracks).into_iter().min_by_key(|&track| Reverse(java(&tracks[track].threads))).unwrap_or(0)
}

/// Returns the indexes of the tracks with samples, the busiest first.
fn by_weight(tracks: &[Track<'_>]) -> Vec<usize> {
    let mut busy: Vec<_> = (0..tracks.len()).filter(|&track| tracks[track].weight() > 0).collect();
    busy.sort_by_cached_key(|&track| Reverse(tracks[track].weight()));
    busy
}
