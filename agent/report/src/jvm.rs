//! What the JVM did during a run: events, safepoints, classes, compilers and locks.

use serde::{Deserialize, Serialize};

/// The number and the length of all JVM events of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct EventReport {
    pub count: u64,
    /// The number of events that the timeline shows. The timeline omits events without a length,
    /// and the excess of frequent kinds.
    pub shown: u64,
    /// The number of events that the timeline omits because there were too many, or because their
    /// stacks took too long to record.
    #[serde(default)]
    pub left_out: u64,
    pub took_ms: f64,
    pub longest_ms: f64,
}

/// A thread that was waiting for a lock at the end of the recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingReport {
    pub thread: String,
    /// The name of the lock's class. It is empty if the JVM does not report the class.
    pub class: String,
    /// The name of the thread that holds the lock. It is null if unknown.
    pub owner: Option<String>,
    pub waited_ms: f64,
}

/// The number and the length of all safepoints of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SafepointReport {
    pub count: u64,
    /// The time for which all threads were stopped.
    pub stopped_ms: f64,
    /// The time between a safepoint's request and the stop of the last thread, summed over all
    /// safepoints.
    pub reaching_ms: f64,
}

/// The number of classes that the run loaded, and the time of loading, summed over all threads.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct ClassReport {
    pub loaded: u64,
    pub initialized: u64,
    /// The time of class loads that the JVM began. For loads by the program's class loaders it
    /// includes only the definition of the class.
    pub loading_ms: f64,
    /// The time of linking classes, which includes verification.
    pub linking_ms: f64,
    pub initializing_ms: f64,
}

/// The number of compilations by the JIT compilers, and their time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct CompilerReport {
    /// The number of successful compilations, of whole methods and of loops (OSR).
    pub compiled: u64,
    /// The number of compilations that failed.
    pub failed: u64,
    /// The time that the successful compilations took.
    pub took_ms: f64,
}
