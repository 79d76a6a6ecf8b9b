//! Draws the events that stand for a measure, such as waits for the time blocked on locks.
//!
//! A program may have a million events in a second, and a stack takes microseconds. So amounts are
//! put one after the other, and divided into strides. An event is recorded if it has the point that
//! was drawn at random in its stride, and stands for the whole stride. An event as long as a stride
//! is always recorded, and stands for itself. So each event has its share of the sum.
//!
//! By the amount alone, a very short wait would hardly ever be drawn, and then stand for thousands.
//! So a quarter of the mean amount is added to each while it is drawn.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vouch_recording::Measure;
use vouch_report::ExactTotal;
use vouch_sample::Measured;

/// The stride never becomes longer than this.
const MAX_STRIDE: u64 = 1 << 40;
/// The budget for the samples and stacks of a second, in parts. Each time that it is used up, the
/// stride is doubled.
const BUDGET: u64 = 1_000_000;
/// The CPU time in ns that the stacks of a second may take.
const MAX_STACK_NS: u64 = 50_000_000;
/// The limit of samples per second falls with the samples so far. A recording of a day would be too
/// large otherwise.
const OFTEN: u64 = 50_000;
const MIN_PER_SECOND: u64 = 8;

/// The amounts of a type of events, and the events drawn among them.
#[derive(Debug)]
pub struct Drawing {
    pub measure: &'static Measure,
    /// The initial and shortest stride.
    first_stride: u64,
    max_per_second: u64,
    stride: AtomicU64,
    /// The sum of the lengths that are shorter than a stride.
    short: AtomicU64,
    amount: AtomicU64,
    events: AtomicU64,
    left_out: AtomicU64,
    drawn: AtomicU64,
    second: AtomicU64,
    spent: AtomicU64,
}

impl Drawing {
    pub const fn new(measure: &'static Measure, first_stride: u64, max_per_second: u64) -> Self {
        let [short, amount, events, left_out, drawn, second, spent] = [const { AtomicU64::new(0) }; 7];
        let stride = AtomicU64::new(first_stride);
        Self {
            measure,
            first_stride,
            max_per_second,
            stride,
            short,
            amount,
            events,
            left_out,
            drawn,
            second,
            spent,
        }
    }

    /// Begins a recording.
    pub fn begin(&self) {
        let Self { stride, short, second, spent, .. } = self;
        for count in [short, second, spent] {
            count.store(0, Relaxed);
        }
        stride.store(self.first_stride, Relaxed);
        self.begin_period();
    }

    /// Begins a period of a recording. The stride stays, since it fits how often events come.
    pub fn begin_period(&self) {
        let Self { amount, events, left_out, drawn, .. } = self;
        for count in [amount, events, left_out, drawn] {
            count.store(0, Relaxed);
        }
    }

    /// Counts an event with this amount. Returns what it stands for if it was drawn.
    pub fn draw(&self, amount: u64) -> Measured {
        let sum = self.amount.fetch_add(amount, Relaxed);
        let mean = sum.checked_div(self.events.fetch_add(1, Relaxed)).unwrap_or(0);
        let (length, stride) = (amount.saturating_add(mean / 4), self.stride.load(Relaxed));
        if length >= stride {
            return Measured { amount, events: 1, is_shown: false };
        }
        let drawn = points(self.short.fetch_add(length, Relaxed), length, stride);
        if drawn.points == 0 {
            return Measured::default();
        }
        // Another type of numbers, because the product may need more bits.
        let all = u128::from(drawn.points) * u128::from(stride) * u128::from(amount);
        let amount = u64::try_from(all / u128::from(length)).unwrap_or(u64::MAX);
        Measured { amount: amount.max(1), events: drawn.events, is_shown: false }
    }

    /// Counts an event that the measure leaves out.
    pub fn leave_out(&self) {
        self.left_out.fetch_add(1, Relaxed);
    }

    /// Notes that an event was recorded at this time, with a stack that took this much CPU time.
    /// Changes the stride if that is too often, or seldom. All is in ns.
    pub fn spend(&self, now: u64, stack_ns: u64) {
        const SECOND: u64 = 1_000_000_000;
        let before = self.drawn.fetch_add(1, Relaxed);
        let per_second = (self.max_per_second / (1 + before / OFTEN)).max(MIN_PER_SECOND);
        let begins = self.second.fetch_max(now / SECOND, Relaxed) < now / SECOND;
        if begins {
            let last = self.spent.swap(0, Relaxed);
            if last < BUDGET / 4 {
                let times = BUDGET / 2 / last.max(BUDGET / 100);
                self.change(|stride| stride / times);
            }
        }
        let cost = BUDGET / per_second + stack_ns.min(MAX_STACK_NS) * BUDGET / MAX_STACK_NS;
        let spent = self.spent.fetch_add(cost, Relaxed);
        if spent / BUDGET != (spent + cost) / BUDGET {
            self.change(|stride| stride * 2);
        }
    }

    fn change(&self, to: impl Fn(u64) -> u64) {
        let next = |stride| Some(to(stride).clamp(self.first_stride, MAX_STRIDE));
        // The function always returns a stride, so this cannot fail.
        let _ = self.stride.fetch_update(Relaxed, Relaxed, next);
    }

    /// Returns the exact totals for the report.
    pub fn report(&self) -> ExactTotal {
        ExactTotal {
            unit: self.measure.unit.name().to_owned(),
            amount: self.amount.load(Relaxed),
            events: self.events.load(Relaxed),
            left_out: self.left_out.load(Relaxed),
        }
    }
}

/// The points of strides that an event has, and the number of events that it stands for.
#[derive(Default)]
struct Drawn {
    points: u64,
    events: u64,
}

/// Finds the points in an event, which begins at `from` in the sum of all lengths. Its length must
/// be less than a stride.
fn points(from: u64, length: u64, stride: u64) -> Drawn {
    let mut drawn = Drawn::default();
    if length == 0 {
        return drawn;
    }
    let until = from + length;
    for at in from / stride..=(until - 1) / stride {
        let point = at * stride + mixed(at) % stride;
        if (from..until).contains(&point) {
            drawn.points += 1;
            // The rest after the point is equally distributed, so the mean is exact.
            drawn.events += (stride + until - 1 - point) / length;
        }
    }
    drawn
}

/// Returns a number that looks random, from the number of a stride (`SplitMix64`).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_recording::measures::BLOCKED;

    /// Draws events with these amounts in turn, as often as `times`. Returns the recorded amounts
    /// and numbers of events, by kind, and the number of recorded samples.
    fn drawn<const N: usize>(stride: u64, amounts: [u64; N], times: u64) -> ([(u64, u64); N], u64) {
        let drawing = Drawing::new(&BLOCKED, stride, 200);
        let (mut sums, mut samples) = ([(0, 0); N], 0);
        for at in 0..times {
            for (sum, amount) in sums.iter_mut().zip(amounts) {
                // Waits vary, or two that alternate could always have the same part of a stride.
                let Measured { amount, events, .. } = drawing.draw(amount + mixed(at) % 7);
                sum.0 += amount;
                sum.1 += events;
                samples += u64::from(amount > 0);
            }
        }
        let exact = drawing.report();
        assert_eq!(exact.events, times * N as u64);
        near(exact.amount, sums.iter().map(|(amount, _)| amount).sum());
        near(exact.events, sums.iter().map(|(_, events)| events).sum());
        (sums, samples)
    }

    fn near(expected: u64, found: u64) {
        assert!(found.abs_diff(expected) * 33 < expected, "{found} is not {expected}");
    }

    #[test]
    fn each_kind_has_its_share_of_the_amount_and_of_the_number() {
        let ([short, long, longest], samples) = drawn(10_000, [500, 3_000, 20_000], 40_000);
        near(503 * 40_000, short.0);
        near(3_003 * 40_000, long.0);
        near(20_003 * 40_000, longest.0);
        for (_, events) in [short, long, longest] {
            near(40_000, events);
        }
        assert!(samples < 80_000, "a part of the short ones: {samples}");
    }

    #[test]
    fn events_that_count_one_each_and_alternate_have_equal_shares() {
        let drawing = Drawing::new(&BLOCKED, 1, 200);
        drawing.change(|_| 64);
        let mut sums = [0; 2];
        for at in 0..1_000_000 {
            sums[at % 2] += drawing.draw(1).events;
        }
        near(500_000, sums[0]);
        near(500_000, sums[1]);
    }

    #[test]
    fn the_stride_follows_the_rate_and_the_cost_of_stacks() {
        const SECOND: u64 = 1_000_000_000;
        let drawing = Drawing::new(&BLOCKED, 10, 200);
        let stride = || drawing.stride.load(Relaxed);
        (0..199).for_each(|_| drawing.spend(SECOND, 0));
        assert_eq!(stride(), 10);
        (0..400).for_each(|_| drawing.spend(SECOND, 0));
        assert_eq!(stride(), 40, "doubled for each budget");
        drawing.spend(2 * SECOND, 0);
        (0..20).for_each(|_| drawing.spend(2 * SECOND, MAX_STACK_NS / 10));
        assert_eq!(stride(), 160, "twenty stacks took twice what they may");
        drawing.spend(3 * SECOND, 0);
        drawing.spend(4 * SECOND, 0);
        assert_eq!(stride(), 10, "after a second with one sample");
        drawing.begin();
        assert_eq!(drawing.report().events, 0);
    }
}
