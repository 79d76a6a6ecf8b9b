//! How a recording samples the threads, and what threads owe where no signal came.

use std::time::Duration;

use fastrand::Rng;
use regex_lite::Regex;

use crate::clock;
use crate::engine::Engine;

/// How threads are sampled while a recording runs.
#[derive(Debug, Clone)]
pub struct Sampling {
    pub engine: Engine,
    pub interval: Duration,
    pub filter: Option<Regex>,
    /// No interrupts for now: also not for threads that begin meanwhile.
    pub paused: bool,
}

impl Sampling {
    /// True if a thread of this name is sampled. Under a filter one without a name yet is not.
    pub fn wants(&self, name: Option<&str>) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.is_some_and(|name| filter.is_match(name)))
    }
}

/// What a thread owes: it was due until this time, with its CPU clock there.
#[derive(Debug, Clone, Copy)]
pub struct Debt {
    pub weight: u32,
    pub time: u64,
    pub cpu: u64,
}

/// A sample that was due while no signal was taken.
#[derive(Debug, Clone, Copy)]
pub struct Unsignalled {
    pub tid: u32,
    pub serial: u32,
    pub debt: Debt,
    pub java: bool,
}

/// What the recording has for its threads.
#[derive(Debug)]
pub struct Arming {
    /// While the engine is on.
    pub sampling: Option<Sampling>,
    /// From the engine's stop until it is settled what the threads owe.
    pub ending: Option<Sampling>,
    /// What threads owed that ended, or became others, while no signal was taken, until that is
    /// asked for.
    pub unsignalled: Vec<Unsignalled>,
    /// Threads for which the engine refused, and its last reason.
    pub unarmed: u64,
    pub unarmed_why: Option<String>,
    pub random: Rng,
    /// It is on, or being written: what ended meanwhile is still asked for.
    pub recording: bool,
    /// CLOCK_MONOTONIC when it began.
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
            recording: false,
            began: 0,
        }
    }
}

impl Arming {
    /// For how long a thread that is met at `now` may have run in this recording: that much of its
    /// time is the recording's, even if it is found late.
    pub fn age(&self, now: u64) -> u64 {
        if self.sampling.is_some() { now.saturating_sub(self.began) } else { 0 }
    }

    /// How the threads are sampled, or were until the engine's stop.
    pub fn present(&self) -> Option<&Sampling> {
        self.sampling.as_ref().or(self.ending.as_ref())
    }
}
