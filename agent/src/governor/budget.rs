//! What sampling may take of the program's CPU time where nobody asked for an interval.
//!
//! It is not for the first of that time, so that the profile of a program that is soon done has many samples. It must never judge by what was
//! spent at another stride.

use std::time::Duration;

use vouch_report::float;

/// So much CPU time is free.
const FREE: Duration = Duration::from_secs(10);
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
}

impl Spent {
    /// The part of all CPU time that signals took, each of which costs an interrupt of `cost`, and as much for the signal itself.
    fn share(&self, cost: Duration) -> f64 {
        let signals = float(self.signals) * 2.0 * cost.as_secs_f64();
        (self.handlers.as_secs_f64() + signals) / self.cpu.as_secs_f64()
    }

    fn add(&mut self, more: &Self) {
        self.cpu += more.cpu;
        self.handlers += more.handlers;
        self.signals += more.signals;
    }
}

/// What there is, and what was had of it.
#[derive(Debug)]
pub struct Budget {
    /// The part of the program's CPU time that sampling may take.
    pub part: f64,
    /// The CPU time that the program has had, and what sampling took of that which is to be judged.
    had: Duration,
    spent: Spent,
}

impl Budget {
    pub fn new(part: f64) -> Self {
        Self { part, had: Duration::ZERO, spent: Spent::default() }
    }

    /// Takes in what was spent since.
    pub fn spend(&mut self, spent: &Spent) {
        self.had += spent.cpu;
        if self.had > FREE {
            self.spent.add(spent);
        }
    }

    /// The part that sampling has taken, where an interrupt costs so much; `None` while there is too little to judge by. What comes
    /// next is judged by itself.
    pub fn taken(&mut self, cost: Duration) -> Option<f64> {
        (self.spent.cpu >= JUDGED).then(|| std::mem::take(&mut self.spent).share(cost))
    }

    /// From here on it is spent at another stride.
    pub fn begin_anew(&mut self) {
        self.spent = Spent::default();
    }
}
