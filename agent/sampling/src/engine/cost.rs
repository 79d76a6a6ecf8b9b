//! Measures the cost of a timer interrupt on this machine. On a virtual machine it is ten times the
//! cost on bare metal, and more when the host is busy.
//!
//! An event of the calling thread runs without a signal, while the thread only reads the clock.
//! Each interrupt leaves a gap between two readings. The measurement must be short enough that no
//! user notices it.

use std::time::{Duration, Instant};

use super::perf::{Event, Kernel};
use crate::clock;

/// The event's period during the measurement.
const PERIOD: Duration = Duration::from_micros(150);
/// The time limit of a measurement, for the case that other threads use the core, too.
const PATIENCE: Duration = Duration::from_millis(50);
/// A gap counts as an interrupt if it exceeds the usual reading by this factor, and is at least
/// `GAP`.
const LONGER: u32 = 4;
const GAP: Duration = Duration::from_nanos(500);

/// Measures the cost of an interrupt, on the thread that made this meter.
#[derive(Debug)]
pub struct Meter(Event);

impl Meter {
    /// Returns `None` if the kernel provides no event.
    pub fn new(user_only: bool) -> Option<Self> {
        let kernel = if user_only { Kernel::Hidden } else { Kernel::Time };
        Event::silent(clock::own_tid(), PERIOD, kernel).ok().map(Self)
    }

    /// Returns the cost of one interrupt: the median of `interrupts` gaps. A median is needed
    /// because some gaps are another thread's time slice, and some a different interrupt. Returns
    /// `None` if the time limit ends with too few gaps.
    pub fn measure(&self, interrupts: usize) -> Option<Duration> {
        // The clock of some machines takes longer to read than an interrupt takes on others.
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
