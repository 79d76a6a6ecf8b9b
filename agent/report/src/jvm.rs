//! What the JVM did during a run: events, safepoints, classes, compilers and locks.

use serde::{Deserialize, Serialize};

/// Events of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct EventReport {
    pub count: u64,
    /// Events that a timeline shows: neither those that were over at once nor those that came too
    /// often.
    pub shown: u64,
    /// Events that a timeline does not show since too many came, or their stacks took too long.
    #[serde(default)]
    pub left_out: u64,
    pub took_ms: f64,
    pub longest_ms: f64,
}

/// A thread that waits for a lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingReport {
    pub thread: String,
    /// The lock's class; empty if the JVM does not report it.
    pub class: String,
    /// The thread that has the lock; null if unknown.
    pub owner: Option<String>,
    pub waited_ms: f64,
}

/// Safepoints: all threads were stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SafepointReport {
    pub count: u64,
    /// While all threads were stopped.
    pub stopped_ms: f64,
    /// From the request to stop until the last thread had stopped.
    pub reaching_ms: f64,
}

/// The time until classes could be used, summed over all threads, of loads that ended in the run.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct ClassReport {
    pub loaded: u64,
    pub initialized: u64,
    /// Loads that the JVM itself began. Of what a program asks its class loader for this has only
    /// the definition.
    pub loading_ms: f64,
    /// With verification.
    pub linking_ms: f64,
    pub initializing_ms: f64,
}

/// All compilers together.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct CompilerReport {
    /// Methods, and loops of methods (OSR).
    pub compiled: u64,
    /// Compilations without a result.
    pub failed: u64,
    /// Time of the compilations with a result.
    pub took_ms: f64,
}
