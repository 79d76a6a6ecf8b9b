//! The clock by which another profiler took its samples.

use serde::{Deserialize, Serialize};

/// The clock of another profiler's samples: CPU time or wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The profiler samples a thread only while the thread runs.
    Cpu,
    /// The profiler samples a thread also while the thread waits.
    Wall,
}
