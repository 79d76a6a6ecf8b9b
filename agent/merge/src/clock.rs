//! When was it, by the profile's clock? The recording's ticks and CLOCK_MONOTONIC are related by what both saw.
//!
//! A moment that both saw gives two bounds: what JVMTI was told of a pause lies around what JFR says of it. All bounds together leave
//! room for few straight lines; the one in their midst is taken, and how far the others are from it is the uncertainty. The
//! uncertainty must never be less than the bounds leave.

/// By how much a clock can be too fast or too slow: the JVM measures the frequency of its ticks when it starts, in some milliseconds,
/// and the kernel slews its own clock by as much.
const FASTEST: f64 = 500e-6;
/// By which bounds that contradict each other are widened, again and again, in nanoseconds.
const WIDENED: f64 = 1_000.0;

/// So many points bound the lines on each side; those of real recordings are a dozen.
const TRIED: usize = 64;

/// At an event's time by the ticks, in nanoseconds from the recording's begin: how much must be added at least, and at most, to have the
/// profile's.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub at: f64,
    pub least: f64,
    pub most: f64,
}

/// What is to be added, as a straight line: at the begin, and for each nanosecond.
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

/// How the clocks relate.
#[derive(Debug)]
pub struct Relation {
    /// The corners of all lines that the bounds allow.
    corners: Vec<Line>,
    /// By which the bounds had to be widened: the clocks' relation is no straight line.
    widened: f64,
}

impl Relation {
    /// None: there is no bound.
    pub fn of(bounds: &[Bound]) -> Option<Self> {
        // Near zero, where a number has more digits to spare.
        let zero = bounds.first()?.least;
        let least = thinned(hull(bounds.iter().map(|bound| (bound.at, bound.least - zero)).collect()));
        let most = thinned(hull(bounds.iter().map(|bound| (bound.at, zero - bound.most)).collect()));
        let mut widened = 0.0;
        loop {
            let corners = corners(&least, &most, widened);
            if !corners.is_empty() {
                let corners = corners.into_iter().map(|line| Line { begin: line.begin + zero, ..line });
                return Some(Self { corners: corners.collect(), widened });
            }
            widened = if widened == 0.0 { WIDENED } else { widened * 1.5 };
        }
    }

    fn middle(&self) -> Line {
        let number = count(self.corners.len());
        let mean = |part: fn(&Line) -> f64| self.corners.iter().map(part).sum::<f64>() / number;
        Line { begin: mean(|line| line.begin), slope: mean(|line| line.slope) }
    }

    /// The profile's time, in nanoseconds, of a time by the ticks.
    pub fn profile_ns(&self, at: f64) -> f64 {
        at + self.middle().at(at)
    }

    /// How far the time of an event can be from the truth, in nanoseconds, if it is one of those between these.
    pub fn uncertainty_ns(&self, first: f64, last: f64) -> f64 {
        let middle = self.middle();
        let far =
            |at: f64| self.corners.iter().map(|line| (line.at(at) - middle.at(at)).abs()).fold(0.0, f64::max);
        // Of straight lines the ends are the farthest.
        far(first).max(far(last)) + self.widened
    }

    /// How many nanoseconds the recording's clock loses in one of the profile's minutes.
    pub fn drift_ns_a_minute(&self) -> f64 {
        self.middle().slope * 60e9
    }
}

#[expect(clippy::cast_precision_loss, reason = "no table has so many rows")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The highest of the points, as a rope over all of them would touch them.
fn hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
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

/// So many of the points that all others lie under, from everywhere: each pair of them is tried. With fewer bounds more lines are allowed.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(TRIED).max(1);
    points.into_iter().step_by(each).collect()
}

/// The corners of all lines above the one points and, upside down, above the others; each point lowered by so much.
fn corners(least: &[(f64, f64)], most: &[(f64, f64)], lowered: f64) -> Vec<Line> {
    // Allowed is a line by these: sign * line(at) >= value.
    let sides: Vec<(f64, f64, f64)> = least
        .iter()
        .map(|(at, value)| (1.0, *at, value - lowered))
        .chain(most.iter().map(|(at, value)| (-1.0, *at, value - lowered)))
        .collect();
    let allowed = |line: &Line| {
        line.slope.abs() <= FASTEST * (1.0 + 1e-9)
            // Of two lines through one point each is a little off.
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
        let relation = Relation::of(&[Bound { at: 0.0, least: 900.0, most: 1_100.0 }]).unwrap();
        near(relation.profile_ns(0.0), 1_000.0, 1.0);
        near(relation.uncertainty_ns(0.0, 0.0), 100.0, 1.0);
        near(relation.uncertainty_ns(0.0, 1e9), 500_100.0, 1.0);
        assert!(Relation::of(&[]).is_none());
    }

    #[test]
    fn many_bounds_find_the_drift() {
        // The truth: 5 s and 20 millionths; each bound is wide, but for one side of some.
        let truth = |at: f64| 5e9 + 20e-6 * at;
        let bounds = (0..600_u32).map(|row| {
            let at = f64::from(row) * 1e9;
            let (down, up) =
                [(30_000.0, 2_000.0), (2_000.0, 30_000.0), (50_000.0, 50_000.0)][row as usize % 3];
            Bound { at, least: truth(at) - down, most: truth(at) + up }
        });
        let relation = Relation::of(&bounds.collect::<Vec<_>>()).unwrap();
        near(relation.drift_ns_a_minute(), 20e-6 * 60e9, 1_000.0);
        let uncertainty = relation.uncertainty_ns(0.0, 600e9);
        assert!(uncertainty < 5_000.0, "{uncertainty}");
        for at in [0.0, 1e9, 300e9, 600e9] {
            near(relation.profile_ns(at), at + truth(at), uncertainty);
        }
    }

    #[test]
    fn a_clock_that_was_moved_makes_it_uncertain_and_no_lie() {
        let truth = |at: f64| if at < 30e9 { 0.0 } else { 1e6 };
        let bounds = (0..60_u32).map(|row| {
            let at = f64::from(row) * 1e9;
            Bound { at, least: truth(at) - 1_000.0, most: truth(at) + 1_000.0 }
        });
        let relation = Relation::of(&bounds.collect::<Vec<_>>()).unwrap();
        let uncertainty = relation.uncertainty_ns(0.0, 60e9);
        for row in 0..60_u32 {
            let at = f64::from(row) * 1e9;
            near(relation.profile_ns(at) - at, truth(at), uncertainty);
        }
    }
}
