//! The clock of another profiler's samples.

use serde::{Deserialize, Serialize};

/// The clock by which another profiler took its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// A thread has samples only while it runs.
    Cpu,
    /// A thread has samples while it waits, too.
    Wall,
}
