//! What a profile says about the run as a whole, and how the front-end is to show it.
//!
//! It must never leave the front-end to guess: what only a browser has is switched off here.

use serde::Serialize;
use vouch_recording::Recording;
use vouch_report::{TrustReport, float};

use super::contexts::ContextTable;
use super::markers::{Schema, schemas};
use super::time::Micros;
use crate::categories::{CategoryEntry, categories};
use crate::meta::{Identity, Meta};
use crate::tracks::{self, Track};

/// The version of the processed-profile format: the lowest with all that a Java profile wants. What
/// came since, up to 70, is for the network and for native libraries, and a front-end that is older
/// than a file refuses it.
const VERSION: u32 = 66;

/// The version of the browser's own format that the front-end's importers give.
const GECKO_VERSION: u32 = 24;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
pub struct MetaColumns<'a> {
    preprocessed_profile_version: u32,
    version: u32,
    product: &'a str,
    imported_from: &'static str,
    /// In milliseconds.
    interval: f64,
    /// The epoch time at which CLOCK_MONOTONIC was 0: every time in the file counts from there.
    start_time: Micros,
    start_time_as_clock_monotonic_nanoseconds_since_boot: u8,
    profiling_start_time: Micros,
    profiling_end_time: Micros,
    process_type: u8,
    stackwalk: u8,
    symbolicated: bool,
    symbolication_not_supported: bool,
    uses_only_one_stack_type: bool,
    source_code_is_not_on_searchfox: bool,
    keep_profile_thread_order: bool,
    initial_visible_threads: Vec<usize>,
    initial_selected_threads: [usize; 1],
    arguments: &'a str,
    oscpu: &'a str,
    #[serde(rename = "logicalCPUs")]
    logical_cpus: u32,
    #[serde(rename = "CPUName")]
    cpu_name: &'a str,
    categories: Vec<CategoryEntry>,
    marker_schema: Vec<Schema<'a>>,
    sample_units: SampleUnits,
    extra: [Section; 1],
    /// The front-end passes it over; `vouch explain` reads it.
    vouch: &'a TrustReport,
    /// By which `vouch merge` knows a process, and a clock, again.
    #[serde(skip_serializing_if = "Option::is_none")]
    vouch_process: Option<&'a Identity>,
    /// What the samples' own column of contexts has its numbers of.
    #[serde(skip_serializing_if = "Option::is_none")]
    vouch_contexts: Option<ContextTable<'a>>,
    /// By which `vouch merge` relates Flight Recorder's clock to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    vouch_anchors: Option<Anchors<'a>>,
}

#[derive(Serialize)]
struct Anchors<'a> {
    tid: u32,
    ns: &'a [[u64; 2]],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampleUnits {
    time: &'static str,
    event_delay: &'static str,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: &'static str,
}

/// A section of the information panel.
#[derive(Serialize)]
struct Section {
    label: &'static str,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    label: &'static str,
    format: &'static str,
    value: String,
}

impl<'a> MetaColumns<'a> {
    pub fn new(recording: &'a Recording, meta: &'a Meta, tracks: &[Track<'_>]) -> Self {
        // The front-end cuts off what lies outside of the recorded range: a sample that was under
        // way when recording ended widens it.
        let times = || tracks.iter().flat_map(|track| &track.threads).flat_map(|thread| thread.samples());
        let first = times().map(|sample| sample.time_ns).fold(meta.started_ns, u64::min);
        let last = times().map(|sample| sample.time_ns).fold(meta.ended_ns, u64::max);
        let run = &meta.report.run;
        let entries = [("JDK", run.jdk.clone())].into_iter().chain(meta.report.panel());
        let entries = entries.map(|(label, value)| Entry { label, format: "string", value }).collect();
        Self {
            preprocessed_profile_version: VERSION,
            version: GECKO_VERSION,
            product: &meta.product,
            imported_from: "Vouch",
            interval: float(run.interval_ns) / 1e6,
            start_time: Micros::from_nanos(meta.started_unix_ns.saturating_sub(meta.started_ns)),
            start_time_as_clock_monotonic_nanoseconds_since_boot: 0,
            profiling_start_time: Micros::from_nanos(first),
            profiling_end_time: Micros::from_nanos(last),
            process_type: 0,
            stackwalk: 1,
            symbolicated: true,
            symbolication_not_supported: true,
            uses_only_one_stack_type: true,
            source_code_is_not_on_searchfox: true,
            keep_profile_thread_order: true,
            initial_visible_threads: tracks::shown(tracks, !recording.marks().is_empty()),
            initial_selected_threads: [tracks::selected(tracks)],
            arguments: &meta.arguments,
            oscpu: &meta.os,
            logical_cpus: meta.cpu_count,
            cpu_name: &meta.cpu_name,
            categories: categories().collect(),
            marker_schema: schemas(recording).collect(),
            sample_units: SampleUnits { time: "ms", event_delay: "ms", thread_cpu_delta: "µs" },
            extra: [Section { label: "Vouch", entries }],
            vouch: &meta.report,
            vouch_process: meta.identity.as_ref(),
            vouch_contexts: Some(ContextTable(recording)).filter(|_| !recording.contexts().rows().is_empty()),
            vouch_anchors: Some(Anchors { tid: meta.agent_tid, ns: &meta.anchors })
                .filter(|anchors| !anchors.ns.is_empty()),
        }
    }
}
