//! The settings and counters of the SIGPROF handler.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::native_walker::NativeWalker;
use vouch_unwind::recover::Recovery;
use vouch_unwind::walker::Walker;

use crate::gate::Gate;
use crate::outlet::Outlet;
use crate::sample_layout::{MAX_RECOVERED, NATIVE_WORDS, max_words};
use crate::slots::Slots;
use crate::witness_rendezvous::WitnessRendezvous;

/// The gate that every SIGPROF handler enters. There is one handler for the process, so there is
/// one gate.
pub static GATE: Gate<Sampler> = Gate::new();

/// The number of intervals in one period of a perf event. Threads take up a longer stride at their
/// next signal. The value only grows while a recording runs.
pub static STRIDE: AtomicU32 = AtomicU32::new(1);

/// All settings of the SIGPROF handler. The agent makes them before it opens the gate.
#[derive(Debug)]
pub struct Sampler {
    /// The walkers, in the order in which they are called until one has a stack.
    pub walkers: &'static [&'static dyn Walker],
    pub compare_every: u32,
    /// The walker that reads which virtual thread is mounted.
    pub vthread_reader: Option<&'static HotspotWalker>,
    /// The walker that finds the carrier's frames in another walker's stack. With `None` they are
    /// kept.
    pub carrier_filter: Option<&'static HotspotWalker>,
    /// The recovery after a failed walk. With `None` there is no recovery.
    pub recovery: Option<Recovery>,
    /// The walker of native frames. With `None` stacks have only Java frames.
    pub native: Option<&'static dyn NativeWalker>,
    /// The maximal number of frames of a stack that are kept.
    pub depth: usize,
    /// The sampling interval, in nanoseconds of CPU time.
    pub interval: u64,
    /// True if the engine does not see the kernel. Then the weight is the number of signals: the
    /// clock would charge the kernel's time to the thread's next code.
    pub user_only: bool,
    /// True if a thread rests for nine times the cost of a slow sample. Otherwise it rests until it
    /// has run for one interval.
    pub rests_after_slow_walks: bool,
    /// True while the agent reads all counters. No sample is taken then, but no signal is lost,
    /// either.
    pub paused: AtomicBool,
    pub outlet: Outlet,
    pub slots: Slots<'static>,
    pub counters: Counters,
    /// The estimated time that the drain takes for a word of a sample, in nanoseconds.
    pub drain_ns_per_word: AtomicU64,
    /// True if the agent wants to compare the next successful walk with GetStackTrace. The handler
    /// then wakes the agent.
    pub witness_wanted: AtomicBool,
    /// The rendezvous of a thread with the agent, while its walk is compared with GetStackTrace.
    pub rendezvous: WitnessRendezvous,
}

// SAFETY: the fields are atomics, or are not written after the gate is opened.
unsafe impl Sync for Sampler {}

impl Sampler {
    /// Returns the most words of a sample with up to `depth` frames. Each candidate has space for
    /// one more frame.
    #[must_use]
    pub fn max_words(&self, depth: usize) -> usize {
        let recovered = if self.recovery.is_some() { MAX_RECOVERED } else { 0 };
        let native = if self.native.is_some() { NATIVE_WORDS } else { 0 };
        max_words(self.walkers.len(), recovered, depth.saturating_add(1)) + native
    }
}

/// The counters of the SIGPROF handler.
#[derive(Debug, Default)]
pub struct Counters {
    /// The number of samples so far: one for each signal of the engine, and those that were due
    /// without a signal.
    pub signals: AtomicU64,
    /// The weight of all samples so far, in intervals.
    pub weight: AtomicU64,
    /// The number of samples that found no space in any lane, of threads without a slot. Without a
    /// slot, their weight cannot stay pending.
    pub dropped: AtomicU64,
    pub dropped_weight: AtomicU64,
    /// The number of signals that came while their thread rested. Their time has no stack.
    pub skipped_resting: AtomicU64,
    /// The number of signals that came while no lane had space. Their time has no stack, or stays
    /// pending.
    pub skipped_no_lane: AtomicU64,
    /// The number of samples with the kernel's frames.
    pub kernel_stacks: AtomicU64,
    /// The number of samples without these frames, because the thread had gone on since they were
    /// recorded.
    pub kernel_stacks_apart: AtomicU64,
    /// The number of walks that faulted in the JVM's code.
    pub jvm_faults: AtomicU64,
    /// The number of walks of Vouch's own walker that faulted.
    pub own_faults: AtomicU64,
}

impl Counters {
    /// Counts a sample, and returns the number of samples before it.
    pub fn count(&self, weight: u32) -> u64 {
        self.weight.fetch_add(u64::from(weight), Ordering::Relaxed);
        self.signals.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts as dropped a sample that `count` has counted and that found no space.
    pub fn count_dropped(&self, weight: u32) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        self.dropped_weight.fetch_add(u64::from(weight), Ordering::Relaxed);
    }

    /// Begins all counts anew except those of faults: walking stops after too many faults of a
    /// recording. The sampler must be paused.
    pub fn begin_period(&self) {
        for count in [
            &self.signals,
            &self.weight,
            &self.dropped,
            &self.dropped_weight,
            &self.skipped_resting,
            &self.skipped_no_lane,
            &self.kernel_stacks,
            &self.kernel_stacks_apart,
        ] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Counts samples that were due without a signal.
    pub fn count_unsignalled(&self, samples: u64, weight: u64) {
        self.signals.fetch_add(samples, Ordering::Relaxed);
        self.weight.fetch_add(weight, Ordering::Relaxed);
    }
}
