//! What the governor did, as the timeline shows it. All times are CLOCK_MONOTONIC, in nanoseconds.

/// An act of the governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// The engine paused, to find the cause of a storm.
    Paused { began: u64, ended: u64 },
    /// Signals come less often from here on: once in this much of a thread's CPU time.
    Lengthened { at: u64, period_ns: u64 },
    /// Signals come from timers from here on.
    Relieved { at: u64 },
    /// There are no samples from here on.
    Stopped { at: u64 },
}
