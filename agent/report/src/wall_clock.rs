//! The wall-clock time of a run's Java threads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The wall-clock time of all Java threads, in milliseconds. `running_ms` and the states add up to
/// `elapsed_ms`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WallClockReport {
    /// The number of times that threads were looked at.
    pub looks: u64,
    /// The time for which threads were looked at, from their first look to their last.
    pub elapsed_ms: f64,
    /// The CPU time that the kernel charged them meanwhile.
    pub running_ms: f64,
    /// The time that threads were not running, by state.
    pub state_ms: BTreeMap<String, f64>,
}
