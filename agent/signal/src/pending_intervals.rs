//! What is due of one thread, and what of it has been answered, in intervals of its CPU time.
//!
//! A sample is due once in a *stride*, which is one interval, or several where the machine cannot
//! afford a signal for each: then it stands for all of them. So weights keep their unit through a
//! change of the stride; and since the first due time after the change is drawn evenly, they keep
//! their mean. It must never count a time twice.
//!
//! # Invariants
//!
//! **Invariant 15.** A weight is in intervals, whatever the stride. A change of the stride loses
//! nothing and counts nothing twice. Held by: this module's tests;
//! `java-tests/engine/Governor.java`.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::jitter::Jitter;
use crate::phase::{floor, to_next_due};

/// A signal that is late moves the time at which the next one is expected by this part of its
/// lateness.
const LATE_SHARE: u64 = 16;

/// A thread that was found running by chance may be this many samples ahead of its CPU clock, or
/// behind it.
const SLACK: i64 = 4;

/// All zero: nothing is due until `begin`.
#[derive(Debug, Default)]
pub struct Dues {
    /// One stride before the first sample is due, by the thread's CPU clock: see [`crate::phase`].
    base: AtomicU64,
    /// The weight of all samples since then.
    answered: AtomicU64,
    /// Intervals from one due time to the next.
    stride: AtomicU32,
    /// When a perf event's last period was over, by the thread's CPU clock; 0 if that is not known.
    fired: AtomicU64,
    /// Moves a perf event's period. The base moves with it, so that each period is due once.
    jitter: Jitter,
    /// Of what is due, the intervals of skipped signals.
    passed_over: AtomicU32,
}

impl Dues {
    /// From here on the thread's intervals are counted.
    pub fn begin(&self, base: u64, stride: u32) {
        self.base.store(base, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
        self.stride.store(stride, Ordering::Relaxed);
        self.fired.store(0, Ordering::Relaxed);
        self.passed_over.store(0, Ordering::Relaxed);
        self.jitter.begin();
    }

    /// Intervals from one due time to the next.
    #[inline]
    pub fn stride(&self) -> u32 {
        self.stride.load(Ordering::Relaxed).max(1)
    }

    /// How many intervals were due until the thread's CPU clock was at `cpu`, and are not answered.
    #[inline]
    pub fn due(&self, cpu: u64, interval: u64) -> u32 {
        let due = self.passed(cpu, interval).saturating_mul(self.stride().into());
        u32::try_from(due.saturating_sub(self.answered.load(Ordering::Relaxed))).unwrap_or(0)
    }

    /// A sample of this weight has been taken.
    #[inline]
    pub fn answer(&self, weight: u32) {
        self.answered.fetch_add(u64::from(weight), Ordering::Relaxed);
    }

    /// Notes how many intervals are due at a signal that is skipped. They do not belong to the next
    /// sample's stack.
    pub fn pass_over(&self, due: u32) {
        self.passed_over.store(due, Ordering::Relaxed);
    }

    /// The intervals that were passed over since the last sample.
    pub fn take_passed_over(&self) -> u32 {
        // Only the thread's own handler comes here.
        let passed_over = self.passed_over.load(Ordering::Relaxed);
        if passed_over > 0 {
            self.passed_over.store(0, Ordering::Relaxed);
        }
        passed_over
    }

    /// The period after a first signal that was late, and has been answered.
    pub fn to_next(&self, cpu: u64, interval: u64) -> u64 {
        let stride = u64::from(self.stride());
        let answered = self.answered.load(Ordering::Relaxed).checked_div(stride).unwrap_or(0);
        to_next_due(self.base.load(Ordering::Relaxed), answered, cpu, interval.saturating_mul(stride))
    }

    /// From here on the stride is this one, a multiple of what it was; what was due has been
    /// answered. To be called on the thread itself.
    pub fn lengthen(&self, cpu: u64, interval: u64, stride: u32) {
        let before = self.stride();
        let (old, new) = (interval.saturating_mul(before.into()), interval.saturating_mul(stride.into()));
        let passed = self.passed(cpu, interval);
        let last = self.base.load(Ordering::Relaxed).wrapping_add(passed.saturating_mul(old));
        // The next one was to come one old stride later; now it comes that much later, or any more
        // of them that fit.
        let more = cpu.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let more = more.checked_rem(u64::from(stride.checked_div(before).unwrap_or(1))).unwrap_or(0);
        let next = last.wrapping_add(old.saturating_mul(more + 1));
        // More may have been answered than was due.
        let due = passed.saturating_mul(before.into());
        let ahead = self.answered.load(Ordering::Relaxed).saturating_sub(due);
        self.base.store(next.wrapping_sub(new), Ordering::Relaxed);
        self.answered.store(ahead, Ordering::Relaxed);
        self.stride.store(stride, Ordering::Relaxed);
        self.fired.store(0, Ordering::Relaxed);
        self.jitter.regular();
    }

    /// What is due is given to a sample that the handler does not take. A perf event's periods
    /// until now are over with it.
    pub fn settle(&self, cpu: u64, interval: u64) -> u32 {
        self.move_base(self.jitter.take_sum().wrapping_neg());
        let due = self.due(cpu, interval);
        self.answer(due);
        self.fired.store(0, Ordering::Relaxed);
        self.passed_over.store(0, Ordering::Relaxed);
        due
    }

    /// The weight of a sample by a perf event's signal: how many periods were over since the last
    /// signal.
    ///
    /// Not how many due times have passed. A signal that finds the thread in the kernel is
    /// delivered when the kernel has finished, and that much later than its period was over. If a
    /// due time passed meanwhile the kernel's work would have the weight of what the thread does
    /// next. The event's timer and the thread's clock drift apart, though. So the due times correct
    /// the weight where the ends of periods are far from them.
    #[inline]
    pub fn fired(&self, cpu: u64, interval: u64) -> u32 {
        let regular = interval.saturating_mul(self.stride().into());
        let difference = self.jitter.difference();
        let period = regular.saturating_add_signed(difference);
        let last = self.fired.load(Ordering::Relaxed);
        if last == 0 || period == 0 {
            self.fired.store(cpu, Ordering::Relaxed);
            return self.due(cpu, interval);
        }
        let periods = cpu.saturating_sub(last).checked_div(period).unwrap_or(0).max(1);
        let over = last.saturating_add(periods.saturating_mul(period));
        self.move_base(difference.saturating_mul(periods.cast_signed()));
        self.jitter.add(difference.saturating_mul(periods.cast_signed()));
        // A signal is never too early. If it seems so, the last one was late, or the clock is slow.
        let late = cpu.saturating_sub(over);
        self.fired.store(cpu.min(over.saturating_add(late / LATE_SHARE)), Ordering::Relaxed);
        // By the period's end and not by the signal: a late one would be corrected more often than
        // others.
        let drift = self.drift(cpu.min(over), interval, (periods, regular));
        let periods = periods.saturating_add_signed(drift);
        u32::try_from(periods.saturating_mul(self.stride().into())).unwrap_or(u32::MAX)
    }

    /// The period that a perf event is to have after the signal at hand, if it changes here.
    pub fn next_period(&self, cpu: u64, interval: u64) -> Option<u64> {
        if self.fired.load(Ordering::Relaxed) == 0 {
            // Signals are counted, and not the clock.
            self.jitter.add(self.jitter.difference());
        }
        let random = cpu.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
        self.jitter.next(random, interval.saturating_mul(self.stride().into()), floor(interval))
    }

    /// That period begins here.
    pub fn begin_period(&self, cpu: u64) {
        let last = self.fired.load(Ordering::Relaxed);
        if last != 0 {
            let since = cpu.wrapping_sub(last).cast_signed();
            self.move_base(since);
            self.jitter.add(since);
            self.fired.store(cpu, Ordering::Relaxed);
        }
    }

    /// The event could not be given that period.
    pub fn keep_regular_period(&self) {
        self.jitter.regular();
    }

    fn move_base(&self, nanos: i64) {
        let base = self.base.load(Ordering::Relaxed).wrapping_add_signed(nanos);
        self.base.store(base, Ordering::Relaxed);
    }

    /// How many more of these periods have to be answered for the end of the last of them to be
    /// near its due time.
    fn drift(&self, over: u64, interval: u64, (periods, period): (u64, u64)) -> i64 {
        let ran = over.wrapping_sub(self.base.load(Ordering::Relaxed)).cast_signed();
        let answered = self.answered.load(Ordering::Relaxed).saturating_mul(interval);
        let answered = answered.saturating_add(periods.saturating_mul(period)).cast_signed();
        let (left, period) = (ran.saturating_sub(answered), period.cast_signed());
        // So that it is not corrected to and fro.
        let (half, most) = (period / 2, period.saturating_sub(period / 4));
        if left.saturating_abs() < most {
            return 0;
        }
        let rounded = left.saturating_add(if left < 0 { half.saturating_neg() } else { half });
        rounded.checked_div(period).unwrap_or(0)
    }

    /// The weight of a sample of a thread that was found running, where that stands for `weight`
    /// intervals of elapsed time.
    ///
    /// By the clock alone a thread that had slept would have the time that it was not found for
    /// where it is found next. So the clock corrects the weight only where chance does not explain
    /// the difference.
    #[inline]
    pub fn seen(&self, cpu: u64, interval: u64, weight: u32) -> u32 {
        let slack = i64::from(weight).saturating_mul(SLACK);
        let ahead = self.balance(cpu, interval);
        let weight =
            i64::from(weight).min(ahead.saturating_add(slack)).max(ahead.saturating_sub(slack)).max(0);
        u32::try_from(weight).unwrap_or(u32::MAX)
    }

    /// How many intervals the thread has run for that no sample stands for; below zero where
    /// samples stand for more.
    #[inline]
    pub fn balance(&self, cpu: u64, interval: u64) -> i64 {
        let due = self.passed(cpu, interval).saturating_mul(self.stride().into());
        due.wrapping_sub(self.answered.load(Ordering::Relaxed)).cast_signed()
    }

    /// Due times that the clock has passed.
    #[inline]
    fn passed(&self, cpu: u64, interval: u64) -> u64 {
        let ran = cpu.wrapping_sub(self.base.load(Ordering::Relaxed));
        ran.checked_div(interval.saturating_mul(self.stride().into())).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::phase::Phase;
    use std::vec::Vec;

    #[test]
    fn what_is_due_is_what_no_sample_stands_for() {
        let dues = Dues::default();
        dues.begin(1_000, 1);
        assert_eq!(dues.due(1_999, 1_000), 0);
        assert_eq!(dues.due(4_500, 1_000), 3);
        dues.answer(3);
        assert_eq!(dues.due(4_900, 1_000), 0);
        assert_eq!(dues.due(5_000, 1_000), 1);
        dues.answer(9);
        assert_eq!(dues.due(6_000, 1_000), 0, "more than due has been counted");
        // A clock that was armed near its zero, with a long first period, begins below it.
        dues.begin(100_u64.wrapping_sub(900), 1);
        assert_eq!(dues.due(300, 1_000), 1);
    }

    #[test]
    fn a_sample_of_a_longer_stride_stands_for_all_of_it() {
        let dues = Dues::default();
        dues.begin(0, 4);
        assert_eq!((dues.due(3_999, 1_000), dues.due(4_000, 1_000), dues.due(9_000, 1_000)), (0, 4, 8));
    }

    #[test]
    fn a_program_in_step_with_the_interval_is_seen_at_all_its_points() {
        let (interval, signals) = (1_000_000_u64, 20_000);
        for begin in [0, 130_000, 410_000, 990_000] {
            let dues = Dues::default();
            dues.begin(begin, 1);
            let (mut over, mut period, mut shown, mut all) = (begin, interval, 0, 0);
            for signal in 0..signals {
                over += period;
                let cpu = over + signal * 7_919 % 3_000;
                let weight = dues.fired(cpu, interval);
                dues.answer(weight);
                all += weight;
                // It spends the first 0.3 ms of each millisecond in one method.
                if cpu % interval < 300_000 {
                    shown += weight;
                }
                if let Some(next) = dues.next_period(cpu, interval) {
                    period = next;
                    over = cpu + 2_000;
                    dues.begin_period(over);
                }
            }
            assert!((280..=320).contains(&(shown * 1_000 / all)), "{shown} of {all}");
            all += dues.settle(over, interval);
            let ran = (over - begin) / interval;
            assert!(u64::from(all).abs_diff(ran) <= 3, "{all} intervals for {ran}");
        }
    }

    #[test]
    fn what_was_passed_over_is_taken_once_and_settled_with_the_rest() {
        let dues = Dues::default();
        dues.begin(0, 1);
        assert_eq!(dues.take_passed_over(), 0);
        dues.pass_over(dues.due(2_000, 1_000));
        dues.pass_over(dues.due(3_000, 1_000));
        assert_eq!((dues.take_passed_over(), dues.take_passed_over()), (3, 0));
        dues.pass_over(3);
        assert_eq!((dues.settle(4_000, 1_000), dues.take_passed_over()), (4, 0));
        dues.pass_over(1);
        dues.begin(4_000, 1);
        assert_eq!(dues.take_passed_over(), 0, "another thread has the slot");
    }

    /// Signals of a perf event at the ends of its periods, by its own timer, to a thread whose
    /// clock is slower than that by some nanoseconds a period; the kernel delivers each of them as
    /// late as `late` says of its time. Gives the weights of the samples.
    fn weights(slower: u64, late: impl Fn(u64) -> u64, signals: u64) -> Vec<u64> {
        let (interval, dues) = (1_000_000, Dues::default());
        dues.begin(400_000_u64.wrapping_sub(interval), 1);
        let mut delivered = 0;
        (0..signals)
            .map(|number| 400_000 + number * (interval - slower))
            .filter_map(|over| {
                let cpu = over + late(over);
                // It is pending once.
                if over <= delivered {
                    return None;
                }
                delivered = cpu;
                let weight = dues.fired(cpu, interval);
                dues.answer(weight);
                Some(u64::from(weight))
            })
            .collect()
    }

    #[test]
    fn a_signal_that_the_kernel_delivers_late_weighs_no_more_for_it() {
        // In each 3.7 ms the thread spends 0.7 ms in the kernel, and has a signal from there at its
        // end.
        let into = |over: u64| over % 3_700_000;
        let late = |over: u64| 700_000_u64.saturating_sub(into(over));
        for slower in [0, 300, 20_000, 50_000] {
            let all = weights(slower, late, 20_000);
            let in_kernel: u64 = (0..)
                .zip(&all)
                .filter(|(number, _)| late(400_000 + number * (1_000_000 - slower)) > 0)
                .map(|(_, weight)| weight)
                .sum();
            let total: u64 = all.iter().sum();
            let expected = 20_000 * (1_000_000 - slower) / 1_000_000;
            assert!(total.abs_diff(expected) <= 1, "{total} intervals for {expected}");
            // 0.7 of 3.7 ms.
            assert!(
                (in_kernel * 1_000).abs_diff(total * 700 / 3_700 * 1_000) < total * 10,
                "{in_kernel} of {total}, {slower} ns"
            );
        }
    }

    #[test]
    fn a_thread_that_is_found_by_chance_has_its_time_where_it_ran() {
        let (interval, dues, mut random) = (1_000, Dues::default(), 1_u64);
        dues.begin(0, 1);
        let mut chance = |percent: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % 100 < percent
        };
        // By turns it runs a tenth of the time and all of the time. A look each two intervals.
        let (mut cpu, mut shown, mut ran) = (0, [0_u64; 2], [0_u64; 2]);
        for look in 0..40_000 {
            let (phase, share) = if look / 100 % 2 == 0 { (0, 10) } else { (1, 100) };
            cpu += 2 * interval * share / 100;
            ran[phase] += 2 * share;
            if chance(share) {
                let weight = dues.seen(cpu, interval, 2);
                dues.answer(weight);
                shown[phase] += u64::from(weight);
            }
        }
        for (shown, ran) in shown.into_iter().zip(ran) {
            assert!((shown * 100).abs_diff(ran) < ran / 10, "{shown} intervals for {ran} hundredths");
        }
        assert!(dues.balance(cpu, interval).abs() <= 2 * SLACK, "{}", dues.balance(cpu, interval));
    }

    #[test]
    fn what_was_settled_is_not_counted_again() {
        let (interval, dues) = (1_000, Dues::default());
        dues.begin(0, 1);
        assert_eq!((dues.fired(1_000, interval), dues.due(1_000, interval)), (1, 1));
        dues.answer(1);
        assert_eq!(dues.settle(500_400, interval), 499);
        let weights: Vec<u32> = (501..511)
            .map(|at| {
                let weight = dues.fired(at * 1_000, interval);
                dues.answer(weight);
                weight
            })
            .collect();
        assert_eq!(weights, [1; 10]);
    }

    #[test]
    fn what_is_lost_while_the_kernel_works_for_longer_is_its_own() {
        // Of each 9.7 ms the last 3.5, in which three or four periods end.
        let into = |over: u64| over % 9_700_000;
        let late = |over: u64| if into(over) > 6_200_000 { 9_700_000 - into(over) } else { 0 };
        let all = weights(0, late, 20_000);
        let total: u64 = all.iter().sum();
        let in_kernel: u64 = all.iter().filter(|weight| **weight > 1).sum();
        assert!(total.abs_diff(20_000) <= 3, "{total}");
        assert!(in_kernel.abs_diff(20_000 * 35 / 97) < 200, "{in_kernel} of {total}");
    }

    #[test]
    fn a_longer_stride_loses_nothing_and_adds_nothing() {
        let (interval, draws) = (100_000, 20_000_u64);
        for (changed, ended, strides) in
            [(350_000, 900_000, [2, 4]), (1_000_000, 10_000_000, [4, 16]), (50_000, 160_000, [2, 8])]
        {
            let mut total = 0;
            for draw in 0..draws {
                let dues = Dues::default();
                dues.begin(Phase::draw(interval * draw / draws, 0, 0, interval).base, 1);
                // A signal comes late by chance, and twice the stride grows.
                let mut cpu = changed + draw * 7_919 % 30_000;
                for stride in strides {
                    total += u64::from(dues.due(cpu, interval));
                    dues.answer(dues.due(cpu, interval));
                    dues.lengthen(cpu, interval, stride);
                    cpu += 13_000 + draw * 104_729 % 40_000;
                }
                total += u64::from(dues.due(ended, interval));
            }
            // Two in a hundred: the due times are drawn, and not as even as they could be.
            let expected = draws * ended / interval;
            assert!(total.abs_diff(expected) * 50 < expected, "{total} intervals for {expected}");
        }
    }
}
