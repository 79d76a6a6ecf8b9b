//! What a timer interrupt costs on this machine: on a virtual one ten times what it does on iron,
//! and more when it is busy.
//!
//! An event of the calling thread's runs without a signal, while the thread does nothing but read
//! the clock: each of its interrupts leaves a gap between two readings. It must take no longer than
//! a person would not notice.

use std::time::{Duration, Instant};

use super::perf::Event;
use crate::clock;

/// The event's period while it is measured.
const PERIOD: Duration = Duration::from_micros(150);
/// How long it may take where others want the core, too.
const PATIENCE: Duration = Duration::from_millis(50);
/// A gap between two readings of the clock is so much longer than most are, and at least so long.
const LONGER: u32 = 4;
const GAP: Duration = Duration::from_nanos(500);

/// Measures it for the thread that it was made on.
#[derive(Debug)]
pub struct Meter(Event);

impl Meter {
    /// `None` if the kernel gives no event.
    pub fn new(user_only: bool) -> Option<Self> {
        Event::silent(clock::own_tid(), PERIOD, user_only).ok().map(Self)
    }

    /// The cost of one interrupt: the median of so many, since some gaps are somebody else's turn
    /// on this core, and some an interrupt for less. `None` if there were not that many in good
    /// time.
    pub fn measure(&self, interrupts: usize) -> Option<Duration> {
        // Some machines' clocks take longer to read than an interrupt takes elsewhere.
        let mut readings: Vec<Duration> = (0..33).map(|_| Instant::now().elapsed()).collect();
        readings.sort_unstable();
        let gap = GAP.max(readings[readings.len() / 2] * LONGER);
        self.0.start().ok()?;
        let begun = Instant::now();
        let mut gaps = Vec::with_capacity(interrupts);
        let mut last = begun;
        while gaps.len() < interrupts && last.duration_since(begun) < PATIENCE {
            let now = Instant::now();
            if now.duration_since(last) > gap {
                gaps.push(now.duration_since(last));
            }
            last = now;
        }
        self.0.stop();
        gaps.sort_unstable();
        gaps.get(interrupts / 2).copied()
    }
}
