//! What perf events have taken of the process's time so far, for the governor: how many signals
//! came, and how long their handlers ran.

use core::sync::atomic::{AtomicU64, Ordering};

/// There is one handler for the process, so there is one account.
pub static SPENT: Spent = Spent { signals: AtomicU64::new(0), nanos: AtomicU64::new(0) };

/// It only grows, from recording to recording.
#[derive(Debug)]
pub struct Spent {
    signals: AtomicU64,
    nanos: AtomicU64,
}

impl Spent {
    /// A signal has come, whatever becomes of it.
    #[inline]
    pub(crate) fn signal(&self) {
        self.signals.fetch_add(1, Ordering::Relaxed);
    }

    /// A sample was taken for one, in so long, by its thread's CPU clock.
    #[inline]
    pub(crate) fn took(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The signals, and the nanoseconds.
    pub fn so_far(&self) -> (u64, u64) {
        (self.signals.load(Ordering::Relaxed), self.nanos.load(Ordering::Relaxed))
    }
}
