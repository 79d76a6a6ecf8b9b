//! Counts the intervals of one thread's CPU time that are due and not yet covered by a sample.
//!
//! A sample is due once in a *stride*. A stride is one interval, or several if the machine cannot
//! afford a signal for each of them. Then a sample covers all intervals of the stride. So weights
//! keep their unit when the stride changes. The first due time after a change is drawn evenly, so
//! weights also keep their mean. No time may be counted twice.
//!
//! # Invariants
//!
//! **Invariant 15.** A weight is in intervals, whatever the stride. A change of the stride loses
//! nothing and counts nothing twice. Held by: this module's tests;
//! `java-tests/engine/Governor.java`.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::jitter::Jitter;
use crate::phase::{Phase, floor, to_next_due};

/// One part in this number of a late signal's lateness moves the expected end of the next period.
const LATE_SHARE: u64 = 16;

/// The number of samples by which a thread's weight may lead or lag its CPU clock, if the agent
/// looks which threads run. Chance explains such a difference.
const SLACK: i64 = 4;

/// The due and counted intervals of one thread. All zero is valid: nothing is due until `begin` is
/// called.
#[derive(Debug, Default)]
pub struct PendingIntervals {
    /// A reading of the thread's CPU clock: one stride before the first due time. [`crate::phase`]
    /// draws it at random.
    base: AtomicU64,
    /// The weight of all samples since `base` was read, in intervals.
    counted: AtomicU64,
    /// The number of intervals from one due time to the next.
    stride: AtomicU32,
    /// The reading of the thread's CPU clock when the last period of its perf event ended, or 0 if
    /// that is unknown.
    last_period_end: AtomicU64,
    /// The variation of the perf event's period. `base` moves with it, so that each period is due
    /// once.
    jitter: Jitter,
    /// The intervals that were pending when a signal was last skipped.
    skipped: AtomicU32,
}

impl PendingIntervals {
    /// Starts to count the thread's intervals. `base` is one stride before the first due time.
    pub fn begin(&self, base: u64, stride: u32) {
        self.base.store(base, Ordering::Relaxed);
        self.counted.store(0, Ordering::Relaxed);
        self.stride.store(stride, Ordering::Relaxed);
        self.last_period_end.store(0, Ordering::Relaxed);
        self.skipped.store(0, Ordering::Relaxed);
        self.jitter.begin();
    }

    /// Returns the number of intervals from one due time to the next.
    #[inline]
    pub fn stride(&self) -> u32 {
        self.stride.load(Ordering::Relaxed).max(1)
    }

    /// Returns how many intervals are due and not covered by a sample, when the thread's CPU clock
    /// is at `cpu`.
    #[inline]
    pub fn due(&self, cpu: u64, interval: u64) -> u32 {
        let due = self.passed_due_times(cpu, interval).saturating_mul(self.stride().into());
        u32::try_from(due.saturating_sub(self.counted.load(Ordering::Relaxed))).unwrap_or(0)
    }

    /// Counts a sample that covers `weight` intervals.
    #[inline]
    pub fn count(&self, weight: u32) {
        self.counted.fetch_add(u64::from(weight), Ordering::Relaxed);
    }

    /// Records how many intervals are pending at a skipped signal. They do not belong to the next
    /// sample's stack.
    pub fn skip(&self, due: u32) {
        self.skipped.store(due, Ordering::Relaxed);
    }

    /// Returns the intervals that were skipped since the last sample, and sets them to 0.
    pub fn take_skipped(&self) -> u32 {
        // Only the thread's own handler calls this, so a load and a store suffice.
        let skipped = self.skipped.load(Ordering::Relaxed);
        if skipped > 0 {
            self.skipped.store(0, Ordering::Relaxed);
        }
        skipped
    }

    /// Returns the period after a late first signal, once a sample covers all due times before that
    /// signal.
    pub fn period_after_late_signal(&self, cpu: u64, interval: u64) -> u64 {
        let stride = u64::from(self.stride());
        let counted = self.counted.load(Ordering::Relaxed).checked_div(stride).unwrap_or(0);
        to_next_due(self.base.load(Ordering::Relaxed), counted, cpu, interval.saturating_mul(stride))
    }

    /// Returns the phase of a perf event that replaces a timer when the thread's CPU clock is at
    /// `cpu`. Its first signal covers everything that is pending by then.
    pub fn resume(&self, cpu: u64, interval: u64) -> Phase {
        let period = interval.saturating_mul(self.stride().into());
        Phase::resume(self.base.load(Ordering::Relaxed), cpu, period)
    }

    /// Changes the stride to a multiple of the old one. All pending intervals must be counted
    /// before. Only the thread itself may call this.
    pub fn lengthen_stride(&self, cpu: u64, interval: u64, stride: u32) {
        let before = self.stride();
        let (old, new) = (interval.saturating_mul(before.into()), interval.saturating_mul(stride.into()));
        let passed = self.passed_due_times(cpu, interval);
        let last = self.base.load(Ordering::Relaxed).wrapping_add(passed.saturating_mul(old));
        // The next due time was one old stride away. A random number of further old strides, up to
        // one new stride in all, keeps the mean.
        let more = cpu.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let more = more.checked_rem(u64::from(stride.checked_div(before).unwrap_or(1))).unwrap_or(0);
        let next = last.wrapping_add(old.saturating_mul(more + 1));
        // Samples may cover more than was due.
        let due = passed.saturating_mul(before.into());
        let ahead = self.counted.load(Ordering::Relaxed).saturating_sub(due);
        self.base.store(next.wrapping_sub(new), Ordering::Relaxed);
        self.counted.store(ahead, Ordering::Relaxed);
        self.stride.store(stride, Ordering::Relaxed);
        self.last_period_end.store(0, Ordering::Relaxed);
        self.jitter.regular();
    }

    /// Counts all pending intervals and returns them, for a sample that the handler does not take.
    /// The current period of a perf event is forgotten with them.
    pub fn flush(&self, cpu: u64, interval: u64) -> u32 {
        self.shift_base(self.jitter.take_sum().wrapping_neg());
        let due = self.due(cpu, interval);
        self.count(due);
        self.last_period_end.store(0, Ordering::Relaxed);
        self.skipped.store(0, Ordering::Relaxed);
        due
    }

    /// Returns the weight of a sample by a perf event's signal: the periods that ended since the
    /// last signal.
    ///
    /// Due times alone would give wrong weights. The kernel delivers a signal only when it returns
    /// to user mode, late by the rest of its work. If a due time passed meanwhile, the thread's
    /// next code would get the weight of the kernel's work. But the event's timer and the thread's
    /// clock drift apart. So the due times correct the weight if the ends of periods are far from
    /// them.
    #[inline]
    pub fn perf_weight(&self, cpu: u64, interval: u64) -> u32 {
        let regular = interval.saturating_mul(self.stride().into());
        let difference = self.jitter.difference();
        let period = regular.saturating_add_signed(difference);
        let last = self.last_period_end.load(Ordering::Relaxed);
        if last == 0 || period == 0 {
            self.last_period_end.store(cpu, Ordering::Relaxed);
            return self.due(cpu, interval);
        }
        let periods = cpu.saturating_sub(last).checked_div(period).unwrap_or(0).max(1);
        let over = last.saturating_add(periods.saturating_mul(period));
        if periods == 1 {
            // Where signals were skipped, the clock alone decides: the sum would have no bound.
            self.shift_base(difference);
            self.jitter.add(difference);
        }
        // A signal is never early. If it seems early, the last one was late, or the clock is slow.
        let late = cpu.saturating_sub(over);
        self.last_period_end.store(cpu.min(over.saturating_add(late / LATE_SHARE)), Ordering::Relaxed);
        // The period's end decides instead of the signal's time. Otherwise late signals would be
        // corrected more often than others.
        let drift = self.drift(cpu.min(over), interval, (periods, regular));
        let periods = periods.saturating_add_signed(drift);
        u32::try_from(periods.saturating_mul(self.stride().into())).unwrap_or(u32::MAX)
    }

    /// Returns the next period of a perf event after the signal at hand, if the period changes
    /// here.
    pub fn next_period(&self, cpu: u64, interval: u64) -> Option<u64> {
        if self.last_period_end.load(Ordering::Relaxed) == 0 {
            // Without an end of a period, signals are counted instead of the clock.
            self.jitter.add(self.jitter.difference());
        }
        let random = cpu.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
        self.jitter.next(random, interval.saturating_mul(self.stride().into()), floor(interval))
    }

    /// Records that the changed period begins when the thread's CPU clock is at `cpu`.
    pub fn begin_period(&self, cpu: u64) {
        if self.last_period_end.load(Ordering::Relaxed) != 0 {
            self.last_period_end.store(cpu, Ordering::Relaxed);
        }
    }

    /// Records that the perf event keeps its regular period, because the change failed.
    pub fn keep_regular_period(&self) {
        self.jitter.regular();
    }

    fn shift_base(&self, nanos: i64) {
        let base = self.base.load(Ordering::Relaxed).wrapping_add_signed(nanos);
        self.base.store(base, Ordering::Relaxed);
    }

    /// Returns how many more of these periods to count, so that the last of them ends near its due
    /// time.
    fn drift(&self, over: u64, interval: u64, (periods, period): (u64, u64)) -> i64 {
        let ran = over.wrapping_sub(self.base.load(Ordering::Relaxed)).cast_signed();
        let counted = self.counted.load(Ordering::Relaxed).saturating_mul(interval);
        let counted = counted.saturating_add(periods.saturating_mul(period)).cast_signed();
        let (left, period) = (ran.saturating_sub(counted), period.cast_signed());
        // The threshold is above half a period, so that a correction does not provoke the opposite
        // one.
        let (half, most) = (period / 2, period.saturating_sub(period / 4));
        if left.saturating_abs() < most {
            return 0;
        }
        let rounded = left.saturating_add(if left < 0 { half.saturating_neg() } else { half });
        rounded.checked_div(period).unwrap_or(0)
    }

    /// Returns the weight of a sample of a thread that the agent found running. The sample covers
    /// `weight` intervals of elapsed time.
    ///
    /// By the clock alone, a thread that had slept would get all its unseen time where the agent
    /// finds it next. So the clock corrects the weight only if chance does not explain the
    /// difference.
    #[inline]
    pub fn seen_weight(&self, cpu: u64, interval: u64, weight: u32) -> u32 {
        let slack = i64::from(weight).saturating_mul(SLACK);
        let ahead = self.balance(cpu, interval);
        let weight =
            i64::from(weight).min(ahead.saturating_add(slack)).max(ahead.saturating_sub(slack)).max(0);
        u32::try_from(weight).unwrap_or(u32::MAX)
    }

    /// Returns the intervals that the thread ran minus the intervals that samples cover. The result
    /// is negative if samples cover more.
    #[inline]
    pub fn balance(&self, cpu: u64, interval: u64) -> i64 {
        let due = self.passed_due_times(cpu, interval).saturating_mul(self.stride().into());
        due.wrapping_sub(self.counted.load(Ordering::Relaxed)).cast_signed()
    }

    /// Returns how many due times the thread's CPU clock has passed.
    #[inline]
    fn passed_due_times(&self, cpu: u64, interval: u64) -> u64 {
        let ran = cpu.wrapping_sub(self.base.load(Ordering::Relaxed));
        ran.checked_div(interval.saturating_mul(self.stride().into())).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn due_intervals_are_those_that_no_sample_stands_for() {
        let pending = PendingIntervals::default();
        pending.begin(1_000, 1);
        assert_eq!(pending.due(1_999, 1_000), 0);
        assert_eq!(pending.due(4_500, 1_000), 3);
        pending.count(3);
        assert_eq!(pending.due(4_900, 1_000), 0);
        assert_eq!(pending.due(5_000, 1_000), 1);
        pending.count(9);
        assert_eq!(pending.due(6_000, 1_000), 0, "more than due has been counted");
        // A clock that is armed near zero, with a long first period, begins below zero.
        pending.begin(100_u64.wrapping_sub(900), 1);
        assert_eq!(pending.due(300, 1_000), 1);
    }

    #[test]
    fn a_sample_weighs_its_whole_stride() {
        let pending = PendingIntervals::default();
        pending.begin(0, 4);
        assert_eq!(
            (pending.due(3_999, 1_000), pending.due(4_000, 1_000), pending.due(9_000, 1_000)),
            (0, 4, 8)
        );
    }

    #[test]
    fn skipped_signals_keep_a_thread_on_its_clock() {
        let (interval, pending) = (1_000_000_u64, PendingIntervals::default());
        pending.begin(0, 1);
        let (mut over, mut period, mut all) = (0, interval, 0_u64);
        for sample in 0..3_000 {
            // A walk takes 3 ms, and the thread rests for 30 periods and more.
            over += period * (30 + sample % 17);
            let weight = pending.perf_weight(over, interval);
            pending.count(weight);
            all += u64::from(weight);
            if let Some(next) = pending.next_period(over, interval) {
                period = next;
                over += 2_000;
                pending.begin_period(over);
            }
            assert!(all.abs_diff(over / interval) <= 2, "{all} intervals for {over} ns");
            over += 3_000_000;
        }
    }

    #[test]
    fn a_program_in_step_with_the_interval_is_sampled_at_all_its_points() {
        let (interval, signals) = (1_000_000_u64, 20_000);
        for begin in [0, 130_000, 410_000, 990_000] {
            let pending = PendingIntervals::default();
            pending.begin(begin, 1);
            let (mut over, mut period, mut shown, mut all) = (begin, interval, 0, 0);
            for signal in 0..signals {
                over += period;
                let cpu = over + signal * 7_919 % 3_000;
                let weight = pending.perf_weight(cpu, interval);
                pending.count(weight);
                all += weight;
                // The program spends the first 0.3 ms of each millisecond in one method.
                if cpu % interval < 300_000 {
                    shown += weight;
                }
                if let Some(next) = pending.next_period(cpu, interval) {
                    period = next;
                    over = cpu + 2_000;
                    pending.begin_period(over);
                }
            }
            assert!((280..=320).contains(&(shown * 1_000 / all)), "{shown} of {all}");
            all += pending.flush(over, interval);
            let ran = (over - begin) / interval;
            assert!(u64::from(all).abs_diff(ran) <= 1, "{all} intervals for {ran}");
        }
    }

    #[test]
    fn skipped_intervals_are_taken_once_and_flushed_with_the_rest() {
        let pending = PendingIntervals::default();
        pending.begin(0, 1);
        assert_eq!(pending.take_skipped(), 0);
        pending.skip(pending.due(2_000, 1_000));
        pending.skip(pending.due(3_000, 1_000));
        assert_eq!((pending.take_skipped(), pending.take_skipped()), (3, 0));
        pending.skip(3);
        assert_eq!((pending.flush(4_000, 1_000), pending.take_skipped()), (4, 0));
        pending.skip(1);
        pending.begin(4_000, 1);
        assert_eq!(pending.take_skipped(), 0, "another thread has the slot");
    }

    /// Simulates the samples of a thread by a perf event, and returns their weights. Signals come
    /// at the ends of periods. The thread's clock loses `slower` nanoseconds in each period of the
    /// event's timer. The kernel delivers each signal `late` nanoseconds after the period's end.
    fn weights(slower: u64, late: impl Fn(u64) -> u64, signals: u64) -> Vec<u64> {
        let (interval, pending) = (1_000_000, PendingIntervals::default());
        pending.begin(400_000_u64.wrapping_sub(interval), 1);
        let mut delivered = 0;
        (0..signals)
            .map(|number| 400_000 + number * (interval - slower))
            .filter_map(|over| {
                let cpu = over + late(over);
                // A signal is lost if its period ends while another one is pending.
                if over <= delivered {
                    return None;
                }
                delivered = cpu;
                let weight = pending.perf_weight(cpu, interval);
                pending.count(weight);
                Some(u64::from(weight))
            })
            .collect()
    }

    #[test]
    fn a_late_signal_weighs_no_more() {
        // In each 3.7 ms the thread spends 0.7 ms in the kernel, which delivers a signal at its
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
            // The kernel's share is 0.7 of 3.7 ms.
            assert!(
                (in_kernel * 1_000).abs_diff(total * 700 / 3_700 * 1_000) < total * 10,
                "{in_kernel} of {total}, {slower} ns"
            );
        }
    }

    #[test]
    fn a_thread_found_by_chance_gets_its_time_where_it_ran() {
        let (interval, pending, mut random) = (1_000, PendingIntervals::default(), 1_u64);
        pending.begin(0, 1);
        let mut chance = |percent: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % 100 < percent
        };
        // The thread alternates between running a tenth of the time and all of the time. The agent
        // looks once in two intervals.
        let (mut cpu, mut shown, mut ran) = (0, [0_u64; 2], [0_u64; 2]);
        for look in 0..40_000 {
            let (phase, share) = if look / 100 % 2 == 0 { (0, 10) } else { (1, 100) };
            cpu += 2 * interval * share / 100;
            ran[phase] += 2 * share;
            if chance(share) {
                let weight = pending.seen_weight(cpu, interval, 2);
                pending.count(weight);
                shown[phase] += u64::from(weight);
            }
        }
        for (shown, ran) in shown.into_iter().zip(ran) {
            assert!((shown * 100).abs_diff(ran) < ran / 10, "{shown} intervals for {ran} hundredths");
        }
        assert!(pending.balance(cpu, interval).abs() <= 2 * SLACK, "{}", pending.balance(cpu, interval));
    }

    #[test]
    fn flushed_intervals_are_not_counted_again() {
        let (interval, pending) = (1_000, PendingIntervals::default());
        pending.begin(0, 1);
        assert_eq!((pending.perf_weight(1_000, interval), pending.due(1_000, interval)), (1, 1));
        pending.count(1);
        assert_eq!(pending.flush(500_400, interval), 499);
        let weights: Vec<u32> = (501..511)
            .map(|at| {
                let weight = pending.perf_weight(at * 1_000, interval);
                pending.count(weight);
                weight
            })
            .collect();
        assert_eq!(weights, [1; 10]);
    }

    #[test]
    fn signals_lost_in_long_kernel_work_count_for_the_kernel() {
        // The kernel works for the last 3.5 ms of each 9.7 ms, in which three or four periods end.
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
                let pending = PendingIntervals::default();
                pending.begin(Phase::draw(interval * draw / draws, 0, 0, interval).base, 1);
                // The signal comes late by a random time, and the stride grows twice.
                let mut cpu = changed + draw * 7_919 % 30_000;
                for stride in strides {
                    total += u64::from(pending.due(cpu, interval));
                    pending.count(pending.due(cpu, interval));
                    pending.lengthen_stride(cpu, interval, stride);
                    cpu += 13_000 + draw * 104_729 % 40_000;
                }
                total += u64::from(pending.due(ended, interval));
            }
            // The limit is 2 %: the due times are drawn, so they are not perfectly even.
            let expected = draws * ended / interval;
            assert!(total.abs_diff(expected) * 50 < expected, "{total} intervals for {expected}");
        }
    }
}
