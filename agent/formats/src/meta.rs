//! What there is to say of a run as a whole, whatever the format.

use serde::{Deserialize, Serialize};
use vouch_report::TrustReport;

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
    /// Moments of which Flight Recorder tells, too, if it records: from when to when on CLOCK_MONOTONIC, and in which thread.
    pub anchors: Vec<[u64; 2]>,
    pub agent_tid: u32,
    pub pid: u32,
    pub process_name: String,
    /// The command line.
    pub arguments: String,
    pub os: String,
    /// Logical processors.
    pub cpu_count: u32,
    pub cpu_name: String,
    #[serde(skip)]
    pub report: TrustReport,
}
