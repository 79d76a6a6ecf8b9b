//! What sampling may take of the program's CPU time where nobody asked for an interval.
//!
//! It is not for the first of that time, so that the profile of a program that is soon done has
//! many samples. It must never judge by what was spent at another stride.

use std::time::Duration;

use vouch_report::float;

/// What sampling takes is judged by so much of it.
const JUDGED: Duration = Duration::from_secs(2);

/// What sampling takes of the process's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// All CPU time of the process.
    pub cpu: Duration,
    /// That of the handlers.
    pub handlers: Duration,
    pub signals: u64,
    /// How often threads of the process lost or got a core.
    pub switches: u64,
}

/// The part of the program's CPU time that sampling has taken.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// By its signals.
    pub signals: f64,
    /// By what it has the kernel do where one thread follows another: at most, since not each of
    /// them has to set the core's timer.
    pub switches: f64,
}

impl Spent {
    /// What was taken where an interrupt costs so much: a signal takes one and as much for itself,
    /// and to set a core's timer is about as dear.
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

/// What there is, and what was had of it.
#[derive(Debug)]
pub struct Budget {
    /// The part of the program's CPU time that sampling may take.
    pub part: f64,
    /// Timers may take the place of perf's events.
    pub timers: bool,
    /// So much CPU time is not judged.
    free: Duration,
    /// The CPU time that the program has had, and what sampling took of that which is to be judged.
    had: Duration,
    spent: Spent,
}

impl Budget {
    pub fn new(part: f64, timers: bool, free: Duration) -> Self {
        Self { part, timers, free, had: Duration::ZERO, spent: Spent::default() }
    }

    /// Takes in what was spent since.
    pub fn spend(&mut self, spent: &Spent) {
        self.had += spent.cpu;
        if self.had > self.free {
            self.spent.add(spent);
        }
    }

    /// The part that sampling has taken, where an interrupt costs so much; `None` while there is
    /// too little to judge by. What comes next is judged by itself.
    pub fn taken(&mut self, cost: Duration) -> Option<Taken> {
        (self.spent.cpu >= JUDGED).then(|| std::mem::take(&mut self.spent).taken(cost))
    }

    /// From here on it is spent at another stride.
    pub fn begin_anew(&mut self) {
        self.spent = Spent::default();
    }
}
