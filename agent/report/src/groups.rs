//! The time that the program's groups of tasks took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many limits a group counts its tasks by: the powers of two from 1 to 512 ms.
pub const LIMIT_COUNT: usize = 10;

/// The time that the tasks of one group took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    pub tasks: u64,
    /// How many further tasks were not measured: an event loop was entered again inside of them, or
    /// another thread closed them.
    pub abandoned: u64,
    /// How many of the tasks have no CPU time.
    pub tasks_without_cpu: u64,
    pub wall_ms: f64,
    /// The CPU time of all tasks that have one.
    pub cpu_ms: f64,
    /// The wall-clock time in which these tasks were on no processor.
    pub blocked_ms: f64,
    /// How many tasks took at least as many milliseconds of wall-clock time as the key.
    pub tasks_of_ms: BTreeMap<String, u64>,
    /// How many tasks took at least as many milliseconds of CPU time as the key.
    pub tasks_of_cpu_ms: BTreeMap<String, u64>,
}

impl GroupReport {
    /// Returns the counts with their limits, in milliseconds, as keys.
    pub fn limits(counts: [u64; LIMIT_COUNT]) -> BTreeMap<String, u64> {
        counts.into_iter().enumerate().map(|(at, count)| ((1_u64 << at).to_string(), count)).collect()
    }
}
