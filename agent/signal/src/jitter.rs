//! Moves the period of a perf event now and then, so that no program stays in step with it.
//!
//! A program that repeats itself in exactly the sampling period would always be seen at the same
//! points. So each group of signals has its own period, a little longer or shorter than the regular
//! one. Over one group the signals pass through all points of such a program about once.
//!
//! Each signal still weighs one period. The sum of all differences stays below three periods, since
//! a group has the opposite sign when the sum is above one. Settling a thread takes the sum back.

use core::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// Signals of one period.
const GROUP: u32 = 16;
/// A period differs from the regular one by at most this part of it, and by half of that at least.
const PART: u64 = 12;

/// Only the thread's own handler changes it, or the agent while no handler can run.
#[derive(Debug, Default)]
pub struct Jitter {
    /// Nanoseconds by which the event's period is longer than the regular one.
    difference: AtomicI64,
    /// The sum of all differences so far, in nanoseconds.
    sum: AtomicI64,
    /// Signals since the period was last changed.
    signals: AtomicU32,
}

impl Jitter {
    /// Another thread begins.
    pub fn begin(&self) {
        self.regular();
        self.sum.store(0, Ordering::Relaxed);
    }

    /// From here on the event has its regular period.
    pub fn regular(&self) {
        self.difference.store(0, Ordering::Relaxed);
        self.signals.store(0, Ordering::Relaxed);
    }

    /// Nanoseconds by which the event's period is longer than the regular one.
    #[inline]
    pub fn difference(&self) -> i64 {
        self.difference.load(Ordering::Relaxed)
    }

    /// A period was this many nanoseconds longer than the regular one.
    pub fn add(&self, nanos: i64) {
        self.sum.store(self.sum.load(Ordering::Relaxed).wrapping_add(nanos), Ordering::Relaxed);
    }

    /// Takes the sum of all differences.
    pub fn take_sum(&self) -> i64 {
        self.sum.swap(0, Ordering::Relaxed)
    }

    /// The period from this signal on, if it changes here. No period is shorter than `floor`, and
    /// `random` is any number, evenly drawn.
    #[inline]
    pub fn next(&self, random: u64, regular: u64, floor: u64) -> Option<u64> {
        let signals = self.signals.load(Ordering::Relaxed).wrapping_add(1);
        self.signals.store(signals, Ordering::Relaxed);
        let most = regular.checked_div(PART).unwrap_or(0);
        // Shorter ones have to make up for longer ones.
        if signals < GROUP || regular.saturating_sub(most) < floor {
            return None;
        }
        let least = most / 2;
        let drawn = random.checked_rem(most.saturating_sub(least).saturating_add(1)).unwrap_or(0);
        let drawn = least.saturating_add(drawn).cast_signed();
        let (sum, bound) = (self.sum.load(Ordering::Relaxed), regular.cast_signed());
        let is_shorter = if sum.saturating_abs() > bound { sum > 0 } else { random.rotate_left(32) & 1 == 0 };
        let difference = if is_shorter { drawn.saturating_neg() } else { drawn };
        self.difference.store(difference, Ordering::Relaxed);
        self.signals.store(0, Ordering::Relaxed);
        Some(regular.saturating_add_signed(difference))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn periods_are_near_the_regular_one_and_their_sum_is_bounded() {
        let (regular, jitter) = (1_000_000, Jitter::default());
        let (mut random, mut sum, mut longer) = (7_u64, 0_i64, 0);
        for signal in 1..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            jitter.add(jitter.difference());
            sum += jitter.difference();
            let next = jitter.next(random >> 7, regular, 250_000);
            assert_eq!(next.is_some(), signal % GROUP == 0);
            if let Some(period) = next {
                let difference = period.abs_diff(regular);
                assert!((regular / PART / 2..=regular / PART).contains(&difference), "{period}");
                longer += u32::from(period > regular);
            }
            assert!(sum.abs() <= 3 * regular.cast_signed(), "{sum}");
        }
        assert!((5_000..7_500).contains(&longer), "{longer} of 12,500 groups are longer");
        assert_eq!((jitter.take_sum(), jitter.take_sum()), (sum, 0));
    }

    #[test]
    fn no_period_is_below_the_floor() {
        let jitter = Jitter::default();
        assert!((0..100).all(|random| jitter.next(random, 260_000, 250_000).is_none()));
    }
}
