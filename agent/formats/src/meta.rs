//! What there is to say of a run as a whole, whatever the format.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use vouch_recording::measures::CPU;
use vouch_recording::{Measure, MeasureUnit};
use vouch_report::TrustReport;

/// Which process it was: its number alone tells that neither in another container, nor on another
/// machine, nor later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The kernel's name for the time since this machine was started: CLOCK_MONOTONIC is the same
    /// clock in all of it.
    pub boot: String,
    /// The namespace that the number is one of.
    pub namespace: u64,
    pub pid: u32,
    /// When the kernel started it, in its own ticks.
    pub started_ticks: u64,
}

/// Where the samples of virtual threads stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VirtualThreads {
    /// On the tracks of their carriers.
    #[default]
    Carrier,
    /// The busiest have tracks of their own.
    Own,
}

/// The run: what the caller knows about it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Meta {
    /// What the profile is of, in the window's title.
    pub product: String,
    /// Nanoseconds since the Unix epoch, at the moment `started_ns`.
    pub started_unix_ns: u64,
    /// When recording began, on CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// When recording ended, or the profile was asked for.
    pub ended_ns: u64,
    /// Moments of which Flight Recorder tells, too, if it records: from when to when on
    /// CLOCK_MONOTONIC, and in which thread.
    pub anchors: Vec<[u64; 2]>,
    pub agent_tid: u32,
    pub pid: u32,
    /// None where the system does not tell.
    #[serde(default)]
    pub identity: Option<Identity>,
    pub process_name: String,
    /// The command line.
    pub arguments: String,
    pub os: String,
    /// Logical processors.
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
