//! Writes the properties of the run in a profile, and settings for the front-end.
//!
//! Each feature of the front-end that only a browser's profile needs must be switched off here.

use serde::Serialize;
use vouch_recording::Recording;
use vouch_report::{TrustReport, float};

use super::contexts::ContextTable;
use super::markers::{Schema, schemas};
use super::time::Micros;
use crate::categories::{CategoryEntry, categories};
use crate::meta::{Identity, Meta};
use crate::tracks::{self, Track};

/// The version of the processed profile format: the lowest that has all fields of a Java profile.
/// Later versions, up to 70, add fields for the network and for native libraries. A front-end
/// refuses files with a version that it does not support.
const VERSION: u32 = 66;

/// The version of the browser's own format. The front-end's importers write the same version.
const GECKO_VERSION: u32 = 24;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
pub struct MetaColumns<'a> {
    preprocessed_profile_version: u32,
    version: u32,
    product: &'a str,
    imported_from: &'static str,
    /// The sampling interval in milliseconds.
    interval: f64,
    /// The epoch time at which CLOCK_MONOTONIC was 0. All times in the file are relative to it.
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
    /// The trust report. The front-end ignores it, and `vouch explain` reads it.
    vouch: &'a TrustReport,
    /// The identity by which `vouch merge` recognises the process and its clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    vouch_process: Option<&'a Identity>,
    /// The table of contexts. The samples' column of contexts contains rows of this table.
    #[serde(skip_serializing_if = "Option::is_none")]
    vouch_contexts: Option<ContextTable<'a>>,
    /// The intervals by which `vouch merge` relates Flight Recorder's clock to CLOCK_MONOTONIC.
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
        // The front-end hides everything outside of the recorded range. A sample that was taken
        // just after the recording ended extends the range.
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
            initial_visible_threads: tracks::tracks_shown_first(tracks, !recording.markers().is_empty()),
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
