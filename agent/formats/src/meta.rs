//! The properties of a run that each format can write.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use vouch_recording::measures::CPU;
use vouch_recording::{Measure, MeasureUnit};
use vouch_report::TrustReport;

/// Identifies a process. A pid alone is not unique across containers, machines and time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The kernel's `boot_id`. All processes since the same boot share one CLOCK_MONOTONIC.
    pub boot: String,
    /// The namespace in which `pid` is valid.
    pub namespace: u64,
    pub pid: u32,
    /// The time at which the kernel started the process, in the kernel's clock ticks.
    pub started_ticks: u64,
}

/// The choice of tracks for the samples of virtual threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VirtualThreads {
    /// The samples are on the tracks of the carriers, which are the platform threads that ran them.
    #[default]
    Carrier,
    /// The busiest virtual threads have their own tracks.
    Own,
}

/// The properties of a run that are not in its recording.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Meta {
    /// The name of the program, which the front-end shows as the window's title.
    pub product: String,
    /// The same moment as `started_ns`, in nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// The time at which recording began, on CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// The time at which recording ended, or at which the profile was requested during a recording.
    pub ended_ns: u64,
    /// Intervals that Flight Recorder also records if it is on: their beginning and end on
    /// CLOCK_MONOTONIC. `vouch merge` relates the two clocks by them. `agent_tid` is the thread
    /// that had them.
    pub anchors: Vec<[u64; 2]>,
    pub agent_tid: u32,
    pub pid: u32,
    /// The identity of the process, or `None` if the system does not report it.
    #[serde(default)]
    pub identity: Option<Identity>,
    pub process_name: String,
    /// The command line of the program.
    pub arguments: String,
    pub os: String,
    /// The machine's number of logical processors.
    pub cpu_count: u32,
    pub cpu_name: String,
    #[serde(default)]
    pub virtual_threads: VirtualThreads,
    /// The attributes by which OpenTelemetry knows the service, such as its name.
    #[serde(default)]
    pub resource: Vec<(String, String)>,
    /// The measure that pictures such as flame graphs show.
    #[serde(default, with = "measure_key")]
    pub measure: &'static Measure,
    #[serde(skip)]
    pub report: TrustReport,
}

impl Meta {
    /// Returns the name of what a measure counts, such as a time or bytes.
    pub fn counted(&self, measure: &Measure) -> Cow<'static, str> {
        if *measure == CPU { self.report.time() } else { measure.name.into() }
    }

    /// Returns the unit in which a measure is shown, and the number of units for an amount of 1.
    pub fn unit(&self, measure: &Measure) -> (&'static str, f64) {
        match (measure.unit, self.report.interval_ms()) {
            (MeasureUnit::Intervals, Some(interval_ms)) => ("ms", interval_ms),
            (MeasureUnit::Intervals, None) => ("samples", 1.0),
            (MeasureUnit::Bytes, _) => ("bytes", 1.0),
            (MeasureUnit::Nanoseconds, _) => ("ms", 1e-6),
            (MeasureUnit::Count, _) => ("events", 1.0),
        }
    }
}

/// Serialises a measure as its key. If this version lacks a measure with that key, it is read as
/// CPU time.
mod measure_key {
    use serde::{Deserialize, Deserializer, Serializer};
    use vouch_recording::Measure;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub fn serialize<S: Serializer>(measure: &&'static Measure, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(measure.key)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Measure, D::Error> {
        Ok(Measure::from_key(&String::deserialize(deserializer)?).unwrap_or_default())
    }
}
