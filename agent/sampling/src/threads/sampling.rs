//! How a recording samples the threads, and the intervals for which no signal came.

use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use regex_lite::Regex;
use vouch_sample::Unsignalled;
use vouch_signal::sampler::STRIDE;

use super::brief_threads::BriefThreads;
use crate::clock;
use crate::engine::Engine;

/// How threads are sampled while a recording runs.
#[derive(Debug, Clone)]
pub struct Sampling {
    pub engine: Engine,
    pub interval: Duration,
    pub filter: Option<Regex>,
    /// True during a pause. Threads that begin meanwhile are not interrupted either.
    pub paused: bool,
}

impl Sampling {
    /// Returns the present time between two signals of a thread, in nanoseconds.
    pub fn period_nanos(&self) -> u64 {
        clock::nanos(self.interval).max(1).saturating_mul(STRIDE.load(Ordering::Relaxed).into())
    }

    /// Returns true if threads get perf events that see the kernel. The thread's CPU clock then
    /// decides which intervals are due, as with a timer.
    pub fn uses_events(&self) -> bool {
        matches!(self.engine, Engine::Perf { .. }) && !self.engine.user_only()
    }

    /// Returns true if a thread of this name is sampled. Under a filter, a thread without a name
    /// yet is not sampled.
    pub fn wants(&self, name: Option<&str>) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.is_some_and(|name| filter.is_match(name)))
    }
}

/// The pending intervals of a thread, with the time and the CPU clock up to which they were due.
#[derive(Debug, Clone, Copy)]
pub struct Debt {
    pub weight: u32,
    pub time: u64,
    pub cpu: u64,
}

impl Debt {
    /// Returns the intervals as those of a thread that got no signal for them.
    pub fn of_thread(self, tid: u32, serial: u32, is_java: bool) -> Unsignalled {
        let Self { weight, time, cpu } = self;
        Unsignalled { tid, serial, weight, time, cpu, is_java }
    }
}

/// What the registry stores for the present recording.
#[derive(Debug)]
pub struct Arming {
    /// The sampling parameters while the engine is on.
    pub sampling: Option<Sampling>,
    /// The sampling parameters from the engine's stop until all pending intervals are settled.
    pub ending: Option<Sampling>,
    /// Pending intervals of threads that ended, or changed their name or kind, while no signal was
    /// taken. They stay until they are taken.
    pub unsignalled: Vec<Unsignalled>,
    /// How many threads the engine could not be armed for, and the last reason.
    pub unarmed: u64,
    pub unarmed_why: Option<String>,
    pub random: Rng,
    /// Whether threads that start get a timer at first, and those that did.
    pub brief: BriefThreads,
    /// True while the recording runs or is written. Threads that ended meanwhile are kept until
    /// then.
    pub recording: bool,
    /// CLOCK_MONOTONIC at the recording's begin, in nanoseconds.
    pub began: u64,
}

impl Default for Arming {
    fn default() -> Self {
        Self {
            sampling: None,
            ending: None,
            unsignalled: Vec::new(),
            unarmed: 0,
            unarmed_why: None,
            random: Rng::with_seed(clock::epoch()),
            brief: BriefThreads::default(),
            recording: false,
            began: 0,
        }
    }
}

impl Arming {
    /// Returns how long a thread found at `now` may have run in this recording. That much of its
    /// time belongs to the recording, even if the thread is found late.
    pub fn age(&self, now: u64) -> u64 {
        if self.sampling.is_some() { now.saturating_sub(self.began) } else { 0 }
    }

    /// Returns how the threads are sampled, or were sampled until the engine's stop.
    pub fn present(&self) -> Option<&Sampling> {
        self.sampling.as_ref().or(self.ending.as_ref())
    }
}
