//! What the handler samples with, and counts.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use vouch_walk::hotspot::HotspotWalker;
use vouch_walk::recover::Recovery;
use vouch_walk::walker::Walker;

use crate::gate::Gate;
use crate::outlet::Outlet;
use crate::sample_layout::{RECOVERED, longest};
use crate::slots::Slots;
use crate::witness_rendezvous::Stay;

/// The gate through which every handler comes. There is one handler for the process, so there is
/// one gate.
pub static GATE: Gate<Sampler> = Gate::new();

/// How many intervals there are from one signal of a perf event to the next: threads take a longer
/// stride up at their next signal. It only grows while a recording runs.
pub static STRIDE: AtomicU32 = AtomicU32::new(1);

/// All that a handler needs, put together by the agent before it opens the gate.
#[derive(Debug)]
pub struct Sampler {
    /// They are asked in this order until one has a stack; in one of so many samples all of them,
    /// to be compared.
    pub walkers: &'static [&'static dyn Walker],
    pub compare: u32,
    /// It tells whom a thread carries.
    pub own: Option<&'static HotspotWalker>,
    /// It tells which of another walker's frames are the carrier's; `None`: they stay.
    pub parts: Option<&'static HotspotWalker>,
    /// What is done where a walk fails; `None`: nothing.
    pub recovery: Option<Recovery>,
    /// The most frames of a stack that are kept.
    pub depth: usize,
    /// The sampling interval, in nanoseconds of CPU time.
    pub interval: u64,
    /// The engine is blind while a thread is in the kernel: what signals say is then all that there
    /// is, and the clock would charge the kernel's time to whatever the thread does next.
    pub user_only: bool,
    /// A thread rests after a walk that is dear; else just until it has run for an interval.
    pub rests: bool,
    /// Set by the agent while it reads what there is: no sample is taken, but no signal is lost,
    /// either.
    pub paused: AtomicBool,
    pub outlet: Outlet,
    pub slots: Slots<'static>,
    pub counters: Counters,
    /// What the drain takes for a word of a sample, in nanoseconds, as far as the agent knows.
    pub price: AtomicU64,
    /// Set by the agent: the next walk that succeeds is to be witnessed, and the agent to be woken
    /// for it.
    pub witness_wanted: AtomicBool,
    /// Where the thread of that sample stays.
    pub stay: Stay,
}

// SAFETY: the fields are atomics, or not written after the gate was opened.
unsafe impl Sync for Sampler {}

impl Sampler {
    /// The words that the longest sample can need of which so many frames are kept: in each account
    /// room for one more.
    #[must_use]
    pub fn longest(&self, depth: usize) -> usize {
        let recovered = if self.recovery.is_some() { RECOVERED } else { 0 };
        longest(self.walkers.len(), recovered, depth.saturating_add(1))
    }
}

/// What the handler counts.
#[derive(Debug, Default)]
pub struct Counters {
    /// Signals of the engine's, each of which is one sample, and samples that were due without one.
    pub signals: AtomicU64,
    /// What they weigh together.
    pub weight: AtomicU64,
    /// Samples of threads without a slot for which no lane had room, and their weight: nobody knows
    /// later what they were due.
    pub dropped: AtomicU64,
    pub dropped_weight: AtomicU64,
    /// Signals that came while their thread rested: their time has no stack.
    pub rested: AtomicU64,
    /// Signals that came while no lane had room: the same, or it stays owed.
    pub crowded: AtomicU64,
    /// Walks that faulted in the JVM's code.
    pub crashed: AtomicU64,
    /// Walks of our own that faulted.
    pub astray: AtomicU64,
}

impl Counters {
    /// Counts a sample, and says how many there were before it.
    pub fn count(&self, weight: u32) -> u64 {
        self.weight.fetch_add(u64::from(weight), Ordering::Relaxed);
        self.signals.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a sample that was counted and found no room.
    pub fn count_dropped(&self, weight: u32) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        self.dropped_weight.fetch_add(u64::from(weight), Ordering::Relaxed);
    }

    /// Counts samples that came without a signal.
    pub fn count_unsignalled(&self, samples: u64, weight: u64) {
        self.signals.fetch_add(samples, Ordering::Relaxed);
        self.weight.fetch_add(weight, Ordering::Relaxed);
    }
}
