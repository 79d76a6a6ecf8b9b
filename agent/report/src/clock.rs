//! The clock by which samples were taken.

use serde::{Deserialize, Serialize};

/// By which another profiler has sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    Cpu,
    /// A thread that waits has samples, too.
    Wall,
}
