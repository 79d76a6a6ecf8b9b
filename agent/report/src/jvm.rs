//! What the JVM did during a run: events, safepoints, classes, compilers and locks.

use serde::{Deserialize, Serialize};

/// Events of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct EventReport {
    pub count: u64,
    /// How many of them the timeline shows. It omits events without a length, and the excess of
    /// frequent kinds.
    pub shown: u64,
    /// How many events the timeline omits because there were too many, or their stacks took too
    /// long.
    #[serde(default)]
    pub left_out: u64,
    pub took_ms: f64,
    pub longest_ms: f64,
}

/// A thread that was waiting for a lock at the end of the recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingReport {
    pub thread: String,
    /// The lock's class; empty if the JVM does not report it.
    pub class: String,
    /// The thread that has the lock; null if unknown.
    pub owner: Option<String>,
    pub waited_ms: f64,
}

/// All safepoints of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SafepointReport {
    pub count: u64,
    /// How long all threads were stopped.
    pub stopped_ms: f64,
    /// The time from the requests until the last thread had stopped.
    pub reaching_ms: f64,
}

/// The time that class loads of the run took, summed over all threads.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct ClassReport {
    pub loaded: u64,
    pub initialized: u64,
    /// Time of loads that the JVM began. Of loads by the program's class loaders it has only the
    /// definition of the class.
    pub loading_ms: f64,
    /// Time of linking, which includes verification.
    pub linking_ms: f64,
    pub initializing_ms: f64,
}

/// The work of all JIT compilers.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct CompilerReport {
    /// Successful compilations, of whole methods and of loops (OSR).
    pub compiled: u64,
    /// Compilations that failed.
    pub failed: u64,
    /// Time of the successful compilations.
    pub took_ms: f64,
}
