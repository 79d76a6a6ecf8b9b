//! Draws the time of a thread's first signals. It is random, so that short threads are seen in
//! proportion to their time. It is never too soon for the machine to afford a timer of that period.
//!
//! **The rule.** A sample is *due* whenever the thread's CPU clock passes `base + k · interval`, k
//! = 1, 2, 3… The first due time comes a random distance, drawn evenly over one interval, after the
//! clock's reading from which the thread is sampled. So CPU time L has L / interval due times in
//! the mean, whatever L is. Exactly one unit of weight covers each of them:
//! - If the first due time is at least [`FLOOR`] away when the engine is armed, the signal comes at
//!   that time.
//! - Otherwise the first signal comes after the floor, and its weight includes the due times before
//!   it. The next signal comes at a due time again, so the shift does not last.
//! - A signal may be late or get lost. Then the weight of the next signal is all that was due by
//!   then.
//! - If the thread or the recording ends before that, a sample without a stack has the weight.
//!
//! (A perf event that does not see the kernel counts its signals once its regular period has begun.
//! The clock would charge the kernel's time to the thread's next code.)
//!
//! So no weight is lost or added. Some of it is shown later than it was due, by less than the
//! floor. The code that a thread runs in its first [`FLOOR`] of CPU time is never seen. Its weight
//! is shown where the thread is when the floor is over.
//!
//! **Why a floor.** A perf event repeats its first period until the handler has set the regular
//! one. If a period is not much longer than the interrupt itself, it ends again before the thread
//! is back in user mode. Then the signal is not delivered, the handler does not run, and a virtual
//! core does nothing else.
//!
//! This file must never return a period below the floor, unless the interval itself is shorter.
//!
//! # Invariants
//!
//! **Invariant 12.** Each period of a perf event that takes samples is at least 250 µs, or the
//! interval if that is shorter. This holds for the first period and for later ones. Only the event
//! that measures the cost of an interrupt has a period of 150 µs. It signals no thread, and lasts
//! 50 ms at most (`agent/sampling/src/engine/cost.rs`). Held by: the tests of this module and of
//! [`crate::jitter`].

/// The shortest first period, in nanoseconds. A virtual machine's timer interrupt takes 10 µs, and
/// many times that on a busy host.
pub const FLOOR: u64 = 250_000;

/// The first due time and the first period of a thread, drawn at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// The time one interval before the first due time, by the thread's CPU clock. A time before
    /// the clock's zero wraps.
    pub base: u64,
    /// The period until the first signal, in nanoseconds.
    pub first: u64,
    /// True if the first signal comes after its due time, so that the second period must be
    /// shorter.
    pub late: bool,
}

impl Phase {
    /// Draws the phase of a thread. Its CPU clock is at `now`, and it is sampled from the clock's
    /// reading `from` on. `random` is any evenly drawn number.
    #[must_use]
    pub fn draw(random: u64, from: u64, now: u64, interval: u64) -> Self {
        let distance = 1 + random.checked_rem(interval).unwrap_or(0);
        let base = from.wrapping_add(distance).wrapping_sub(interval);
        let away = from.saturating_add(distance).saturating_sub(now);
        Self::at_distance(base, away, interval)
    }

    /// Returns the phase of a perf event that begins when the thread's CPU clock is at `now`. The
    /// thread's due times follow `base` already.
    #[must_use]
    pub fn resume(base: u64, now: u64, interval: u64) -> Self {
        let since = now.wrapping_sub(base).checked_rem(interval).unwrap_or(0);
        let away = interval.saturating_sub(since);
        Self::at_distance(base, away, interval)
    }

    /// Returns the phase of a thread with its next due time `away`. The floor may delay its signal.
    fn at_distance(base: u64, away: u64, interval: u64) -> Self {
        let floor = floor(interval);
        Self { base, first: away.max(floor), late: away < floor }
    }
}

/// Returns the period after a late first signal, which ends at the next due time. If that is nearer
/// than the floor, the period ends at the due time after it, and its signal covers both.
#[must_use]
pub fn to_next_due(base: u64, answered: u64, now: u64, interval: u64) -> u64 {
    let next = base.wrapping_add(answered.saturating_add(1).saturating_mul(interval));
    // The base may have wrapped, but the distance between clock and base has not.
    let away = next.wrapping_sub(base).saturating_sub(now.wrapping_sub(base));
    if away < floor(interval) { away.saturating_add(interval) } else { away }
}

/// Returns the shortest period of a perf event with this interval.
pub fn floor(interval: u64) -> u64 {
    FLOOR.min(interval)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Simulates a thread from `armed` to `ended` on its clock, on a machine with exact timers. The
    /// result is the period of each timer, and the weight of all samples, including the last one
    /// without a stack.
    fn live(random: u64, armed: u64, ended: u64, interval: u64) -> (Vec<u64>, u64) {
        let Phase { base, first, late } = Phase::draw(random, 0, armed, interval);
        let due = |clock: u64| clock.wrapping_sub(base) / interval;
        let (mut periods, mut weight) = (std::vec![first], 0);
        let mut clock = armed + first;
        if clock > ended {
            return (periods, due(ended));
        }
        weight += due(clock);
        if late {
            periods.push(to_next_due(base, weight, clock, interval));
            clock += periods[1];
            if clock > ended {
                return (periods, due(ended));
            }
            weight += due(clock) - weight;
        }
        (periods, weight + (ended - clock) / interval)
    }

    #[test]
    fn each_due_time_is_counted_once() {
        for interval in [50_000, 200_000, 250_000, 300_000, 1_000_000, 10_000_000] {
            for ended in [90_000, 200_000, 260_000, 1_000_000, 1_700_000, 5_000_000, 33_333_333] {
                // The draws cover all phases evenly.
                let draws = 1_000;
                let total: u64 = (0..draws)
                    .map(|draw| {
                        let random = interval / draws * draw + interval / draws / 2;
                        live(random, 60_000, ended, interval).1
                    })
                    .sum();
                let expected = draws * ended / interval;
                assert!(
                    total.abs_diff(expected) <= 1,
                    "{interval} ns, a thread of {ended} ns: {total} samples for {expected}"
                );
            }
        }
    }

    #[test]
    fn no_period_is_below_the_floor() {
        for interval in [50_000, 200_000, 250_000, 300_000, 499_999, 1_000_000] {
            for random in 0..2_000 {
                for armed in [0, 60_000, 240_000, 3_100_000] {
                    let (periods, _) = live(random * interval / 2_000, armed, 100_000_000, interval);
                    for period in periods {
                        assert!(period >= FLOOR.min(interval), "{period} ns at an interval of {interval} ns");
                        assert!(period <= 2 * interval, "{period} ns at an interval of {interval} ns");
                    }
                }
            }
        }
    }

    #[test]
    fn a_resumed_phase_keeps_the_due_times() {
        let base = 600_000_u64.wrapping_sub(1_000_000);
        for (now, first, late) in
            [(600_000, 1_000_000, false), (7_200_000, 400_000, false), (7_500_000, 250_000, true)]
        {
            assert_eq!(Phase::resume(base, now, 1_000_000), Phase { base, first, late }, "at {now}");
        }
    }

    #[test]
    fn a_first_signal_in_time_is_at_its_due_time() {
        let phase = Phase::draw(599_999, 5_000, 5_000, 1_000_000);
        assert_eq!((phase.first, phase.late), (600_000, false));
        assert_eq!(phase.base.wrapping_add(1_000_000), 605_000);
    }
}
