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
    /// The kernel's `boot_id`. Until the next boot CLOCK_MONOTONIC is one clock.
    pub boot: String,
    /// The pid namespace of `pid`.
    pub namespace: u64,
    pub pid: u32,
    /// When the kernel started the process, in the kernel's clock ticks.
    pub started_ticks: u64,
}

/// The tracks that have the samples of virtual threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VirtualThreads {
    /// The samples are on the tracks of the carriers.
    #[default]
    Carrier,
    /// The busiest virtual threads have their own tracks.
    Own,
}

/// The properties of a run that are not in its recording.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Meta {
    /// The name of the program, for the title of the window.
    pub product: String,
    /// The time of `started_ns` in nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// When recording began, on CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// When recording ended, or the profile was asked for.
    pub ended_ns: u64,
    /// Intervals that Flight Recorder records, too, if it is on: their beginning and end on
    /// CLOCK_MONOTONIC. `vouch merge` relates the two clocks by them. `agent_tid` is their thread.
    pub anchors: Vec<[u64; 2]>,
    pub agent_tid: u32,
    pub pid: u32,
    /// The identity of the process, or `None` if the system does not report it.
    #[serde(default)]
    pub identity: Option<Identity>,
    pub process_name: String,
    /// The command line.
    pub arguments: String,
    pub os: String,
    /// The number of logical processors.
    pub cpu_count: u32,
    pub cpu_name: String,
    #[serde(default)]
    pub virtual_threads: VirtualThreads,
    /// What pictures count.
    #[serde(default, with = "measure_key")]
    pub measure: &'static Measure,
    #[serde(skip)]
    pub report: TrustReport,
}

impl Meta {
    /// What a measure counts, in words.
    pub fn counted(&self, measure: &Measure) -> Cow<'static, str> {
        if *measure == CPU { self.report.time() } else { measure.name.into() }
    }

    /// The unit that a measure is shown in, and how much of it an amount of one is.
    pub fn unit(&self, measure: &Measure) -> (&'static str, f64) {
        match (measure.unit, self.report.interval_ms()) {
            (MeasureUnit::Intervals, Some(interval_ms)) => ("ms", interval_ms),
            (MeasureUnit::Intervals, None) => ("samples", 1.0),
            (MeasureUnit::Bytes, _) => ("bytes", 1.0),
        }
    }
}

/// A measure in a file is its key. A key that this version lacks is read as CPU time.
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
