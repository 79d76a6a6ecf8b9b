//! The time that the program's groups of tasks took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The number of limits by which a group counts its slow tasks. The limits are the powers of two
/// from 1 to 512 ms.
pub const LIMIT_COUNT: usize = 10;

/// The time that the tasks of one group took, such as the tasks of one event loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    pub tasks: u64,
    /// The number of further tasks that were not measured. An event loop was entered again inside
    /// of such a task, or another thread closed the task.
    pub abandoned: u64,
    /// The number of tasks with an unknown CPU time.
    pub tasks_without_cpu: u64,
    pub wall_ms: f64,
    /// The CPU time of all tasks for which it is known.
    pub cpu_ms: f64,
    /// The wall-clock time in which the tasks with a known CPU time were on no processor.
    pub blocked_ms: f64,
    /// For each limit in milliseconds: the number of tasks that took at least this wall-clock time.
    pub tasks_of_ms: BTreeMap<String, u64>,
    /// For each limit in milliseconds: the number of tasks that took at least this CPU time.
    pub tasks_of_cpu_ms: BTreeMap<String, u64>,
}

impl GroupReport {
    /// Returns a map from each limit in milliseconds to its count of tasks.
    pub fn limits(counts: [u64; LIMIT_COUNT]) -> BTreeMap<String, u64> {
        counts.into_iter().enumerate().map(|(at, count)| ((1_u64 << at).to_string(), count)).collect()
    }
}
