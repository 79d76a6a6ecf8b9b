//! Counts the cost of perf events for the governor: how many signals came, and how long their
//! handlers ran.

use core::sync::atomic::{AtomicU64, Ordering};

/// The cost of signals in this process, which has one handler.
pub static HANDLER_COST: HandlerCost = HandlerCost { signals: AtomicU64::new(0), nanos: AtomicU64::new(0) };

/// The cost of all signals of perf events so far. The counters only grow, across all recordings.
#[derive(Debug)]
pub struct HandlerCost {
    signals: AtomicU64,
    nanos: AtomicU64,
}

impl HandlerCost {
    /// Counts a signal of a perf event, whether or not a sample follows.
    #[inline]
    pub(crate) fn count_signal(&self) {
        self.signals.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the time that a handler took for one sample, in nanoseconds of its thread's CPU clock.
    #[inline]
    pub(crate) fn add_nanos(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Returns the number of signals so far, and the nanoseconds that their handlers took.
    pub fn totals(&self) -> (u64, u64) {
        (self.signals.load(Ordering::Relaxed), self.nanos.load(Ordering::Relaxed))
    }
}
