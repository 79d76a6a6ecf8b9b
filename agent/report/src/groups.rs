//! Groups of tasks, as the program has made them: what they took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Of how many milliseconds tasks are counted that took longer: powers of two, from 1 to 512.
pub const LIMITS: usize = 10;

/// What a group's tasks have taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    pub tasks: u64,
    /// So many more were given up, since an event loop was entered again inside of them, or they
    /// were closed on another thread.
    pub abandoned: u64,
    /// Of so many nobody knows the CPU time.
    pub tasks_without_cpu: u64,
    pub wall_ms: f64,
    /// Of those of which it is known, and how long these were on no processor.
    pub cpu_ms: f64,
    pub blocked_ms: f64,
    /// How many tasks took so many milliseconds, or more.
    pub tasks_of_ms: BTreeMap<String, u64>,
    /// The same of CPU time.
    pub tasks_of_cpu_ms: BTreeMap<String, u64>,
}

impl GroupReport {
    /// Counts by the milliseconds of their limits.
    pub fn limits(counts: [u64; LIMITS]) -> BTreeMap<String, u64> {
        counts.into_iter().enumerate().map(|(at, count)| ((1_u64 << at).to_string(), count)).collect()
    }
}
