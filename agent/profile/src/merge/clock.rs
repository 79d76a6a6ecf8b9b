//! Converts times of the recording's ticks to CLOCK_MONOTONIC, with an uncertainty.
//!
//! A moment that both clocks recorded gives a lower and an upper bound of their difference. All
//! bounds allow a set of straight lines, and the middle one is taken. The uncertainty at a time is
//! the greatest distance from that line that the neighbouring bounds allow. It depends on how fast
//! the clocks' rates can change. The true time must never be outside of it.

/// The greatest relative error of a clock's rate. The JVM measures the frequency of its ticks in
/// some milliseconds, and the kernel slews its clock by as much.
const FASTEST: f64 = 500e-6;
/// The greatest changes of the clocks' relative rate, tried in this order. The first is usual, the
/// second is what both clocks can do, and the third has no limit.
const BENDS: [f64; 3] = [2e-6, 2.0 * FASTEST, 1.0];
/// The first step by which contradicting bounds are widened, in nanoseconds.
const WIDENED: f64 = 1_000.0;
/// At most one bound in 8, and at most 4 in all, may be wrong. Two different moments may have been
/// taken for one.
const WRONG: [usize; 2] = [8, 4];

/// At most this many points on each side are tried. Real recordings have about a dozen.
const MAX_TRIED: usize = 64;

/// The least and the greatest difference of the clocks at one time, in nanoseconds. `at` is by the
/// ticks, from the start of the recording.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub at: f64,
    pub least: f64,
    pub most: f64,
    /// True if the bound certainly comes from a single moment that both clocks recorded.
    pub sure: bool,
}

/// The difference of the clocks as a straight line: its value at the start, and its change per
/// nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    begin: f64,
    slope: f64,
}

impl Line {
    fn at(self, at: f64) -> f64 {
        self.begin + self.slope * at
    }
}

/// The middle line of all straight lines that the bounds allow.
#[derive(Debug)]
struct Fit {
    line: Line,
    /// The greatest difference in slope between this line and another allowed one.
    steeper: f64,
    /// The distance by which the bounds had to be widened. It is above 0 if the relation is no
    /// straight line, or if a bound is wrong.
    widened: f64,
}

impl Fit {
    fn new(bounds: &[Bound]) -> Option<Self> {
        // Values near zero are calculated with a higher precision, so the first bound is subtracted
        // from all.
        let zero = bounds.first()?.least;
        let least = thin_out(upper_hull(bounds.iter().map(|bound| (bound.at, bound.least - zero)).collect()));
        let most = thin_out(upper_hull(bounds.iter().map(|bound| (bound.at, zero - bound.most)).collect()));
        let lines =
            |widened: f64| Some(extreme_lines(&least, &most, widened)).filter(|corners| !corners.is_empty());
        let (mut too_little, mut widened) = (0.0, 0.0);
        let mut corners = loop {
            if let Some(corners) = lines(widened) {
                break corners;
            }
            too_little = widened;
            widened = if widened == 0.0 { WIDENED } else { widened * 2.0 };
        };
        // The bounds are widened as little as possible, so that the worst ones determine the line.
        while widened - too_little > WIDENED {
            let middle = f64::midpoint(too_little, widened);
            // No number is between two such neighbours.
            if middle <= too_little || middle >= widened {
                break;
            }
            match lines(middle) {
                Some(fewer) => (corners, widened) = (fewer, middle),
                None => too_little = middle,
            }
        }
        let number = count(corners.len());
        let mean = |part: fn(&Line) -> f64| corners.iter().map(part).sum::<f64>() / number;
        let line = Line { begin: mean(|line| line.begin) + zero, slope: mean(|line| line.slope) };
        let steeper = corners.iter().map(|other| (other.slope - line.slope).abs()).fold(0.0, f64::max);
        Some(Self { line, steeper, widened })
    }

    /// Returns the bound on each side that the line violates most. The first and the last bound do
    /// not count, because no other bound limits the clocks there.
    fn most_violated_bounds(&self, bounds: &[Bound]) -> [Option<usize>; 2] {
        let [first, last] = span(bounds);
        let may_be_wrong = |bound: &Bound| !bound.sure && bound.at > first && bound.at < last;
        let off = |bound: &Bound| {
            let line = self.line.at(bound.at);
            [bound.least - line, line - bound.most]
        };
        [0, 1].map(|side| {
            let each = bounds.iter().enumerate().filter(|(_, bound)| may_be_wrong(bound));
            let each = each.map(|(row, bound)| (row, off(bound)[side]));
            each.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(row, _)| row)
        })
    }
}

/// The relation of the recording's clock to the profile's.
#[derive(Debug)]
pub struct Relation {
    line: Line,
    /// The bounds of the clocks' difference in the order of time, relative to the line.
    room: Vec<Bound>,
    /// The greatest change of the difference per nanosecond.
    bends: f64,
}

impl Relation {
    /// Relates the clocks by these bounds. Returns `None` if `bounds` is empty. A few wrong bounds
    /// are removed if all others then allow one straight line.
    pub fn new(bounds: &[Bound]) -> Option<Self> {
        let all = Fit::new(bounds)?;
        let [each, most] = WRONG;
        let mut better: Option<(Fit, Vec<Bound>)> = None;
        for _ in 0..most.min(bounds.len() / each) {
            let (fit, some) = better.as_ref().map_or((&all, bounds), |(fit, some)| (fit, some));
            if fit.widened == 0.0 {
                break;
            }
            // The worst bounds on both sides determine the line, so one of them is wrong.
            let without = fit.most_violated_bounds(some).into_iter().flatten().filter_map(|wrong| {
                let mut others = some.to_vec();
                others.swap_remove(wrong);
                Some((Fit::new(&others)?, others))
            });
            let best = without.min_by(|(one, _), (other, _)| one.widened.total_cmp(&other.widened));
            if best.is_none() {
                break;
            }
            better = best;
        }
        Some(match better {
            Some((fit, some)) if fit.widened == 0.0 => Self::around(&fit, &some),
            _ => Self::around(&all, bounds),
        })
    }

    fn around(fit: &Fit, bounds: &[Bound]) -> Self {
        let line = fit.line;
        let beyond = |bound: &Bound| Bound {
            at: bound.at,
            least: bound.least - line.at(bound.at),
            most: bound.most - line.at(bound.at),
            sure: bound.sure,
        };
        let mut bounds: Vec<Bound> = bounds.iter().map(beyond).collect();
        bounds.sort_by(|one, other| one.at.total_cmp(&other.at));
        let [least, more, all] = BENDS.map(|bends| bends + fit.steeper);
        let spread = |bends| Self { line, room: narrow_by_neighbours(bounds.clone(), bends), bends };
        let agree = |relation: &Self| relation.room.iter().all(|bound| bound.least <= bound.most);
        let tried = [least, more].map(spread).into_iter().find(agree);
        tried.unwrap_or_else(|| spread(all))
    }

    /// Converts a time by the ticks to the profile's clock, in nanoseconds.
    pub fn profile_ns(&self, at: f64) -> f64 {
        at + self.line.at(at)
    }

    /// Returns the greatest error of a converted time between these two, in nanoseconds.
    pub fn uncertainty_ns(&self, first: f64, last: f64) -> f64 {
        let from = self.room.partition_point(|bound| bound.at < first);
        let to = self.room.partition_point(|bound| bound.at <= last).max(from);
        let between = &self.room[from.saturating_sub(1)..(to + 1).min(self.room.len())];
        // The greatest error is at one end, or between two bounds.
        let peaks = between.windows(2).flat_map(|two| {
            let middle = f64::midpoint(two[0].at, two[1].at);
            let off = |one: f64, other: f64| (other - one) / (2.0 * self.bends);
            [middle + off(two[0].most, two[1].most), middle - off(two[0].least, two[1].least)]
        });
        let times = peaks.filter(|at| (first..=last).contains(at)).chain([first, last]);
        times.map(|at| self.uncertainty_at(at)).fold(0.0, f64::max)
    }

    fn uncertainty_at(&self, at: f64) -> f64 {
        let next = self.room.partition_point(|bound| bound.at < at);
        let around = self.room[next.saturating_sub(1)..].iter().take(2);
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for bound in around {
            let change = self.bends * (bound.at - at).abs();
            (least, most) = (least.max(bound.least - change), most.min(bound.most + change));
        }
        least.abs().max(most.abs())
    }

    /// Returns the nanoseconds that the recording's clock loses in a minute of the profile's clock.
    pub fn drift_ns_a_minute(&self) -> f64 {
        self.line.slope * 60e9
    }
}

/// Returns the times of the first and the last bound.
pub fn span(bounds: &[Bound]) -> [f64; 2] {
    let at = bounds.iter().map(|bound| bound.at);
    at.fold([f64::INFINITY, f64::NEG_INFINITY], |[first, last], at| [first.min(at), last.max(at)])
}

/// Narrows each bound by its neighbours, if the difference may change this much per nanosecond. The
/// bounds must be in the order of time.
fn narrow_by_neighbours(mut bounds: Vec<Bound>, bends: f64) -> Vec<Bound> {
    let narrow = |bounds: &mut [Bound], row: usize, by: usize| {
        let (by, bound) = (bounds[by], &mut bounds[row]);
        let change = bends * (by.at - bound.at).abs();
        (bound.least, bound.most) = (bound.least.max(by.least - change), bound.most.min(by.most + change));
    };
    for row in 1..bounds.len() {
        narrow(&mut bounds, row, row - 1);
    }
    for row in (1..bounds.len()).rev() {
        narrow(&mut bounds, row - 1, row);
    }
    bounds
}

#[expect(clippy::cast_precision_loss, reason = "no table has 2^52 rows")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Returns the upper convex hull of the points.
fn upper_hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
    points.dedup_by_key(|point| point.0);
    let mut rope: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., one, two] = rope[..]
            && (two.1 - one.1) * (point.0 - one.0) <= (point.1 - one.1) * (two.0 - one.0)
        {
            rope.pop();
        }
        rope.push(point);
    }
    rope
}

/// Reduces a hull to at most [`MAX_TRIED`] points from all parts, because each pair is tried. Fewer
/// points allow more lines.
fn thin_out(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(MAX_TRIED).max(1);
    points.into_iter().step_by(each).collect()
}

/// Returns the extreme lines above all points of `least` and below those of `most`, which has the
/// opposite sign. Each point is lowered by `lowered`.
fn extreme_lines(least: &[(f64, f64)], most: &[(f64, f64)], lowered: f64) -> Vec<Line> {
    // A line is allowed if sign * line(at) >= value for all points.
    let sides: Vec<(f64, f64, f64)> = least
        .iter()
        .map(|(at, value)| (1.0, *at, value - lowered))
        .chain(most.iter().map(|(at, value)| (-1.0, *at, value - lowered)))
        .collect();
    let allowed = |line: &Line| {
        line.slope.abs() <= FASTEST * (1.0 + 1e-9)
            // A line through two points misses each by a rounding error.
            && sides.iter().all(|(sign, at, value)| sign * line.at(*at) >= value - 0.01)
    };
    let through =
        |(sign, at, value): (f64, f64, f64), slope: f64| Line { begin: sign * value - slope * at, slope };
    let mut corners = Vec::new();
    for (row, one) in sides.iter().enumerate() {
        for slope in [-FASTEST, FASTEST] {
            corners.push(through(*one, slope));
        }
        for two in &sides[row + 1..] {
            if (two.1 - one.1).abs() > 0.5 {
                corners.push(through(*one, (two.0 * two.2 - one.0 * one.2) / (two.1 - one.1)));
            }
        }
    }
    corners.retain(allowed);
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64, by: f64) {
        assert!((one - other).abs() <= by, "{one} is not {other}");
    }

    #[test]
    fn one_bound_says_where_and_not_how_fast() {
        let relation = Relation::new(&[Bound { at: 0.0, least: 900.0, most: 1_100.0, sure: true }]).unwrap();
        near(relation.profile_ns(0.0), 1_000.0, 1.0);
        near(relation.uncertainty_ns(0.0, 0.0), 100.0, 1.0);
        near(relation.uncertainty_ns(0.0, 1e9), 502_100.0, 1.0);
        assert!(Relation::new(&[]).is_none());
    }

    #[test]
    fn many_bounds_find_the_drift() {
        // The true difference is 5 s and 20 millionths. Each bound is wide, except on one side of
        // some.
        let truth = |at: f64| 5e9 + 20e-6 * at;
        let bounds = (0..600_u32).map(|row| {
            let at = f64::from(row) * 1e9;
            let (down, up) =
                [(30_000.0, 2_000.0), (2_000.0, 30_000.0), (50_000.0, 50_000.0)][row as usize % 3];
            Bound { at, least: truth(at) - down, most: truth(at) + up, sure: true }
        });
        let relation = Relation::new(&bounds.collect::<Vec<_>>()).unwrap();
        near(relation.drift_ns_a_minute(), 20e-6 * 60e9, 1_000.0);
        let uncertainty = relation.uncertainty_ns(0.0, 600e9);
        assert!(uncertainty < 12_000.0, "{uncertainty}");
        for at in [0.0, 1e9, 300e9, 600e9] {
            near(relation.profile_ns(at), at + truth(at), uncertainty);
        }
    }

    /// Returns bounds of this width around the true difference, one each `each` seconds of ten
    /// minutes.
    fn around(truth: impl Fn(f64) -> f64, each: u32, wide: f64) -> Vec<Bound> {
        let bound = |row| {
            let at = f64::from(row) * 1e9;
            // Which side is nearer varies pseudo-randomly.
            let [below, above] =
                [row * 7_919 % 13, row * 104_729 % 11].map(|part| wide * (1.0 - f64::from(part) / 40.0));
            Bound { at, least: truth(at) - below, most: truth(at) + above, sure: false }
        };
        (0..600 / each).map(|row| bound(row * each)).collect()
    }

    fn is_within(relation: &Relation, truth: impl Fn(f64) -> f64) -> f64 {
        let uncertainty = relation.uncertainty_ns(0.0, 599e9);
        for row in 0..5_990_u32 {
            let at = f64::from(row) * 1e8;
            let off = (relation.profile_ns(at) - at - truth(at)).abs();
            assert!(off <= relation.uncertainty_ns(at, at), "{off} at {at}");
            assert!(relation.uncertainty_ns(at, at) <= uncertainty + 1e-3, "at {at}");
        }
        uncertainty
    }

    #[test]
    fn a_clock_that_was_moved_makes_it_uncertain_and_no_lie() {
        for (wide, jump) in [(1_000.0, 1e6), (50_000.0, 110_000.0), (50_000.0, 400_000.0)] {
            // The kernel slews its clock at most this fast.
            let truth = |at: f64| ((at - 299.3e9).max(0.0) * FASTEST).min(jump);
            let relation = Relation::new(&around(truth, 1, wide)).unwrap();
            let uncertainty = is_within(&relation, truth);
            // Both clocks may have changed at their greatest rates for half a second.
            assert!(uncertainty < 500_000.0 + jump + 4.0 * wide, "{uncertainty}");
        }
    }

    #[test]
    fn a_clock_that_bends_a_little_makes_it_uncertain_and_no_lie() {
        for wide in [10_000.0, 80_000.0, 200_000.0] {
            // From the middle on the clock is slewed by a millionth.
            let truth = |at: f64| (at - 300e9).max(0.0) * 1e-6;
            for each in [1, 20, 150] {
                let relation = Relation::new(&around(truth, each, wide)).unwrap();
                let uncertainty = is_within(&relation, truth);
                assert!(uncertainty < 1_000_000.0, "{uncertainty}");
            }
        }
    }

    #[test]
    fn a_bound_that_is_wrong_is_left_out() {
        let truth = |at: f64| 5e6 + 20e-6 * at;
        let mut bounds = around(truth, 20, 30_000.0);
        bounds[3].least += 250e6;
        bounds[3].most += 250e6;
        let uncertainty = is_within(&Relation::new(&bounds).unwrap(), truth);
        assert!(uncertainty < 100_000.0, "{uncertainty}");
    }
}
