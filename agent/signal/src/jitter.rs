//! Changes the period of a perf event now and then, so that no program stays in step with it.
//!
//! A program that repeats itself in exactly the sampling period would always be seen at the same
//! points. So each group of signals has its own period, some hundredths longer or shorter than the
//! regular one. Over one group the signals pass through all points of such a program about once.
//!
//! Each signal still weighs one period. Groups with longer and with shorter periods take turns, so
//! the sum of all differences stays below two thirds of a period. When a thread is flushed, the sum
//! begins at 0 again.

use core::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// The number of signals in a group. All signals of a group have the same period.
const GROUP: u32 = 16;
/// The least sum of the differences from the regular period at the end of a group of signals, in
/// tenths of a regular period. `MOST_SUM` is the greatest one. The sign of the sum changes from
/// group to group.
const LEAST_SUM: u64 = 4;
const MOST_SUM: u64 = 6;
/// The largest difference from the regular period is one part in this number.
const LIMIT: u64 = 12;

/// The variation of the period of one thread's perf event. Only the thread's handler changes it, or
/// the agent while no handler can run.
#[derive(Debug, Default)]
pub struct Jitter {
    /// The number of nanoseconds by which the event's period is longer than the regular one.
    difference: AtomicI64,
    /// The sum of all differences from the regular period so far, in nanoseconds.
    sum: AtomicI64,
    /// The number of signals since the period was last changed.
    signals: AtomicU32,
}

impl Jitter {
    /// Begins again without a difference, for another thread.
    pub fn begin(&self) {
        self.regular();
        self.sum.store(0, Ordering::Relaxed);
    }

    /// Records that the perf event has its regular period again.
    pub fn regular(&self) {
        self.difference.store(0, Ordering::Relaxed);
        self.signals.store(0, Ordering::Relaxed);
    }

    /// Returns by how many nanoseconds the perf event's period is longer than the regular one.
    #[inline]
    pub fn difference(&self) -> i64 {
        self.difference.load(Ordering::Relaxed)
    }

    /// Adds the difference of a period that was this many nanoseconds longer than the regular one.
    pub fn add(&self, nanos: i64) {
        self.sum.store(self.sum.load(Ordering::Relaxed).wrapping_add(nanos), Ordering::Relaxed);
    }

    /// Returns the sum of all differences from the regular period, and sets it to 0.
    pub fn take_sum(&self) -> i64 {
        self.sum.swap(0, Ordering::Relaxed)
    }

    /// Returns the new period that begins with this signal, or `None` if the period stays. No
    /// period is shorter than `floor`. `random` is any evenly drawn number.
    #[inline]
    pub fn next(&self, random: u64, regular: u64, floor: u64) -> Option<u64> {
        let signals = self.signals.load(Ordering::Relaxed).wrapping_add(1);
        self.signals.store(signals, Ordering::Relaxed);
        // Shorter periods have to balance longer ones, so the floor rules out both.
        let limit = regular / LIMIT;
        if signals < GROUP || regular.saturating_sub(limit) < floor {
            return None;
        }
        let sum = self.sum.load(Ordering::Relaxed);
        let (least, most) = (regular / 10 * LEAST_SUM, regular / 10 * MOST_SUM);
        let drawn = random.checked_rem(most.saturating_sub(least).saturating_add(1)).unwrap_or(0);
        let size = least.saturating_add(drawn).cast_signed();
        let is_shorter = sum > 0 || sum == 0 && random.rotate_left(32) & 1 == 0;
        let next = if is_shorter { size.saturating_neg() } else { size };
        let limit = limit.cast_signed();
        let difference = (next.saturating_sub(sum) / i64::from(GROUP)).min(limit).max(limit.saturating_neg());
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
                // The first group passes through half of the points.
                let least = if signal == GROUP { 40 } else { 20 };
                assert!((regular / least..=regular / 13).contains(&period.abs_diff(regular)), "{period}");
                longer += u32::from(period > regular);
            }
            assert!(sum.abs() <= regular.cast_signed() * 2 / 3, "{sum}");
        }
        assert!((6_000..6_500).contains(&longer), "{longer} of 12,500 groups are longer");
        assert_eq!((jitter.take_sum(), jitter.take_sum()), (sum, 0));
    }

    #[test]
    fn a_delay_is_made_up_for_in_small_parts() {
        let (regular, jitter) = (1_000_000_u64, Jitter::default());
        jitter.add(5 * regular.cast_signed());
        let mut periods = (0..10 * GROUP).filter_map(|signal| {
            jitter.add(jitter.difference());
            jitter.next(signal.into(), regular, 250_000)
        });
        assert!(periods.all(|period| period.abs_diff(regular) <= regular / LIMIT));
        let sum = jitter.take_sum();
        assert!(sum.abs() < regular.cast_signed(), "{sum}");
    }

    #[test]
    fn no_period_is_below_the_floor() {
        let jitter = Jitter::default();
        assert!((0..100).all(|random| jitter.next(random, 260_000, 250_000).is_none()));
    }
}
