//! The share of the program's CPU time that sampling may take if the user set no interval.
//!
//! The first part of that time is free, so that the profile of a short program has many samples.
//! The budget must never be compared with time that was spent at another stride.

use std::time::Duration;

use vouch_report::float;

/// The CPU time over which the cost of sampling is judged.
const JUDGED: Duration = Duration::from_secs(2);

/// The cost of sampling, and the process's CPU time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// All CPU time of the process.
    pub cpu: Duration,
    /// The CPU time of the handlers.
    pub handlers: Duration,
    pub signals: u64,
    /// How often threads of the process lost or got a core.
    pub switches: u64,
}

/// The part of the program's CPU time that sampling has taken.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// The part taken by signals.
    pub signals: f64,
    /// The part taken by the kernel at thread switches. It is an upper bound, because not every
    /// switch has to set the core's timer.
    pub switches: f64,
}

impl Spent {
    /// Returns the parts that were taken if an interrupt costs `cost`. A signal costs one interrupt
    /// and about as much again. To set a core's timer costs about one interrupt.
    fn taken(&self, cost: Duration) -> Taken {
        let (cpu, cost) = (self.cpu.as_secs_f64(), cost.as_secs_f64());
        let signals = self.handlers.as_secs_f64() + float(self.signals) * 2.0 * cost;
        Taken { signals: signals / cpu, switches: float(self.switches) * cost / cpu }
    }

    fn add(&mut self, more: &Self) {
        self.cpu += more.cpu;
        self.handlers += more.handlers;
        self.signals += more.signals;
        self.switches += more.switches;
    }
}

/// The budget, and what was spent of it.
#[derive(Debug)]
pub struct Budget {
    /// The part of the program's CPU time that sampling may take.
    pub part: f64,
    /// True if timers may replace perf's events.
    pub timers: bool,
    /// The CPU time at the start that is not judged.
    free: Duration,
    /// The program's CPU time so far, and the cost of sampling in the part that is judged.
    had: Duration,
    spent: Spent,
}

impl Budget {
    pub fn new(part: f64, timers: bool, free: Duration) -> Self {
        Self { part, timers, free, had: Duration::ZERO, spent: Spent::default() }
    }

    /// Adds the cost since the last call.
    pub fn spend(&mut self, spent: &Spent) {
        self.had += spent.cpu;
        if self.had > self.free {
            self.spent.add(spent);
        }
    }

    /// Returns the parts that sampling has taken if an interrupt costs `cost`. Returns `None` while
    /// there is too little CPU time to judge by. The next call judges only what follows.
    pub fn taken(&mut self, cost: Duration) -> Option<Taken> {
        (self.spent.cpu >= JUDGED).then(|| std::mem::take(&mut self.spent).taken(cost))
    }

    /// Starts a new measurement after a change of the stride.
    pub fn begin_anew(&mut self) {
        self.spent = Spent::default();
    }
}
