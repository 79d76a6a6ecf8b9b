//! Writes the Firefox Profiler's processed profile format, version 66.
//!
//! The document must never be in memory as a whole: it is written as a stream, one track's samples
//! at a time.

mod allocations;
mod amount_table;
mod amounts;
mod contexts;
mod counters;
mod held_up;
mod markers;
mod meta;
mod samples;
mod tables;
mod time;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{Recording, Thread};

use crate::json::Column;
use crate::meta::Meta;
use crate::tracks::{self, Tid, Track};
use allocations::AllocationColumns;
use amount_table::AmountColumns;
use counters::CounterColumns;
use markers::MarkerColumns;
use meta::MetaColumns;
use samples::SampleColumns;
use tables::Shared;
use time::Micros;

/// Writes the whole profile of a recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let threads = tracks::split_threads(recording, meta);
    let tracks = tracks::tracks(&threads.threads(recording));
    let mut out = BufWriter::with_capacity(64 << 10, out);
    serde_json::to_writer(&mut out, &Document { recording, meta, tracks: &tracks })?;
    out.flush()
}

struct Document<'a> {
    recording: &'a Recording,
    meta: &'a Meta,
    tracks: &'a [Track<'a>],
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tracks = || {
            self.tracks
                .iter()
                .enumerate()
                .map(|(at, track)| TrackColumns::new(self.recording, track, at == 0, self.meta))
        };
        let counters = || {
            let seen = self.recording.counters().iter().filter(|counter| !counter.readings().is_empty());
            seen.map(|counter| CounterColumns { counter, pid: self.meta.pid })
        };
        let mut document = serializer.serialize_struct("profile", 5)?;
        document.serialize_field("meta", &MetaColumns::new(self.recording, self.meta, self.tracks))?;
        document.serialize_field("libs", &[(); 0])?;
        document.serialize_field("shared", &Shared(self.recording))?;
        document.serialize_field("counters", &Column(counters))?;
        document.serialize_field("threads", &Column(tracks))?;
        document.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrackColumns<'a> {
    name: &'a str,
    is_main_thread: bool,
    show_markers_in_timeline: bool,
    process_type: &'static str,
    process_name: &'a str,
    process_startup_time: Micros,
    process_shutdown_time: Option<Micros>,
    register_time: Micros,
    unregister_time: Option<Micros>,
    paused_ranges: [(); 0],
    pid: String,
    tid: &'a Tid,
    /// The tid, start and end of each thread that shares the track. The front-end ignores this
    /// field, and `vouch merge` finds a thread's track by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    vouch_tids: Option<Vec<(u64, Micros, Option<Micros>)>>,
    samples: SampleColumns,
    #[serde(skip_serializing_if = "Option::is_none")]
    js_allocations: Option<AllocationColumns<'a>>,
    #[serde(flatten)]
    amounts: BTreeMap<&'static str, AmountColumns<'a>>,
    markers: MarkerColumns<'a>,
}

fn life(thread: &Thread) -> (u64, Micros, Option<Micros>) {
    (thread.tid(), Micros::from_nanos(thread.started_ns()), thread.ended_ns().map(Micros::from_nanos))
}

impl<'a> TrackColumns<'a> {
    fn new(recording: &'a Recording, track: &'a Track<'a>, first: bool, meta: &'a Meta) -> Self {
        let interval_ns = meta.report.run.interval_ns;
        let markers = MarkerColumns::new(recording, &track.threads, first, &meta.report.run);
        Self {
            name: &track.name,
            is_main_thread: track.is_main,
            show_markers_in_timeline: !markers.is_empty(),
            process_type: "default",
            process_name: &meta.process_name,
            process_startup_time: Micros::from_nanos(meta.started_ns),
            process_shutdown_time: None,
            register_time: Micros::from_nanos(track.started_ns()),
            unregister_time: track.ended_ns().map(Micros::from_nanos),
            paused_ranges: [],
            pid: meta.pid.to_string(),
            tid: &track.tid,
            vouch_tids: (track.threads.len() > 1)
                .then(|| track.threads.iter().map(|thread| life(thread)).collect()),
            samples: SampleColumns::new(&track.threads, interval_ns, meta.ended_ns),
            js_allocations: AllocationColumns::new(recording, &track.threads),
            amounts: AmountColumns::tables(&track.threads),
            markers,
        }
    }
}
