//! Compares two sides method by method: how much they differ, and how much of the difference may be
//! chance.
//!
//! It must never take two runs of one program for two programs. Such runs differ by more than
//! sampling noise. The JIT compiler makes other code each time, so time moves from a method to its
//! neighbours.
//!
//! The spread of a method between runs is estimated from its own runs, from those of all methods,
//! and from measurements of other programs. Each estimate is weighted by its degrees of freedom. So
//! more runs make an interval wider only if they really differ.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::run::Run;

/// A method with a smaller share than this on both sides is not compared.
const MIN_SHARE: f64 = 0.005;
/// The probability that all intervals together hold.
const CONFIDENCE: f64 = 0.95;
/// The variance of a method's share `p` from run to run, in units of `p (1 - p)`, as measured for
/// other programs: 1.5 points for a method with a tenth of the time. docs/diff.md has the
/// measurement.
const USUAL_SPREAD: f64 = 0.016 * 0.016 / 0.1;
/// The degrees of freedom of an estimate that does not come from the method's own runs.
const PRIOR_FREEDOM: f64 = 10.0;

/// The time of a method before and after, as a share or in milliseconds.
#[derive(Debug)]
pub struct Change {
    pub name: String,
    pub values: [f64; 2],
    error: Error,
}

/// A standard error, and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct Error {
    error: f64,
    freedom: f64,
}

impl Error {
    /// Returns the distance from the mean that a value does not exceed with this probability.
    fn quantile(self, probability: f64) -> f64 {
        let student = StudentsT::new(0.0, 1.0, self.freedom);
        student.map_or(f64::INFINITY, |student| student.inverse_cdf(probability) * self.error)
    }
}

impl Change {
    pub fn by(&self) -> f64 {
        self.values[1] - self.values[0]
    }

    pub fn json(&self, comparison: &Comparison) -> Value {
        let [before, after] = self.values;
        json!({
            "name": self.name, "before": before, "after": after, "change": self.by(), "interval": comparison.interval(self),
            "sure": comparison.is_sure(self),
        })
    }
}

#[derive(Debug)]
pub struct Comparison {
    /// The changes of all compared methods, the largest first.
    pub changes: Vec<Change>,
    /// True if each side has only one run.
    pub single: bool,
    /// True if times are compared, and not shares of time.
    time: bool,
}

impl Comparison {
    pub fn from_sides(sides: &[Vec<Run>; 2], time: bool) -> Self {
        let names: BTreeSet<&String> = sides.iter().flatten().flat_map(|run| run.methods.keys()).collect();
        let is_large =
            |name: &&String| sides.iter().any(|side| mean(side, |run| run.share(name)) >= MIN_SHARE);
        let methods: Vec<Method<'_>> =
            names.into_iter().filter(is_large).map(|name| Method::new(sides, name, time)).collect();
        let spread = Spread::of_all(&methods, time);
        let mut changes: Vec<Change> = methods.iter().map(|method| method.change(&spread)).collect();
        changes.sort_by(|one, other| {
            other.by().abs().total_cmp(&one.by().abs()).then_with(|| one.name.cmp(&other.name))
        });
        Self { changes, single: sides.iter().all(|side| side.len() == 1), time }
    }

    /// Returns half the width of a change's interval. Each interval is wider than for one method,
    /// so that all intervals together hold.
    pub fn half_width(&self, change: &Change) -> f64 {
        let many = count(self.changes.len().max(1));
        change.error.quantile(1.0 - (1.0 - CONFIDENCE) / (2.0 * many))
    }

    /// Returns the confidence interval of a change. No share changes by more than its whole.
    pub fn interval(&self, change: &Change) -> [f64; 2] {
        let (by, sure) = (change.by(), self.half_width(change));
        [by - sure, by + sure].map(|end| if self.time { end } else { end.clamp(-1.0, 1.0) })
    }

    /// Returns the size of a change that would be noticed in four of five cases.
    pub fn noticeable_change(&self, change: &Change) -> f64 {
        self.half_width(change) + change.error.quantile(0.8)
    }

    pub fn is_sure(&self, change: &Change) -> bool {
        change.by().abs() > self.half_width(change)
    }

    /// Returns the method that took most time before.
    pub fn hottest(&self) -> Option<&Change> {
        self.changes.iter().max_by(|one, other| one.values[0].total_cmp(&other.values[0]))
    }
}

/// A method's values on both sides, and their variances.
struct Method<'n> {
    name: &'n str,
    sides: [Side; 2],
    /// The variance from run to run, and its degrees of freedom. They are 0 if each side has one
    /// run.
    variance: f64,
    freedom: f64,
    /// The value that this variance is proportional to.
    scale: f64,
}

impl<'n> Method<'n> {
    fn new(both: &[Vec<Run>; 2], name: &'n str, time: bool) -> Self {
        let pattern = Pattern::from_runs(both, name, time);
        let sides = both.each_ref().map(|side| Side::new(side, name, time, &pattern));
        let freedom: f64 = sides.iter().map(|side| side.runs - 1.0).sum();
        let squares: f64 = sides.iter().map(|side| side.squares).sum();
        // A side with many runs counts no more than the other. What is rare on one side need not be
        // on both.
        let value = sides.iter().map(|side| side.value).sum::<f64>() / 2.0;
        Self {
            name,
            sides,
            variance: if freedom > 0.0 { squares / freedom } else { 0.0 },
            freedom,
            scale: if time { value * value } else { value * (1.0 - value) },
        }
    }

    /// Returns the change of the method. `spread` is how much methods usually differ between runs,
    /// and the method's own runs correct it.
    fn change(&self, spread: &Spread) -> Change {
        let weight = spread.weight + self.freedom;
        let between = (spread.weight * spread.variance * self.scale + self.freedom * self.variance) / weight;
        // For times, only this method's own runs give degrees of freedom. So the estimate is never
        // more certain than these runs are.
        let between = if spread.freedom > 0.0 { between } else { between.max(self.variance) };
        // The difference between this method's own runs includes the noise of sampling. The
        // estimate from other methods does not.
        let others = spread.weight / weight;
        let error: f64 =
            self.sides.iter().map(|side| side.within.max(others * side.within + between / side.runs)).sum();
        let (error, freedom) = (error.sqrt(), spread.freedom + self.freedom);
        let values = self.sides.each_ref().map(|side| side.value);
        Change { name: self.name.to_owned(), values, error: Error { error, freedom } }
    }
}

/// The spread of methods from run to run, in units of their scale.
struct Spread {
    variance: f64,
    /// The weight of this estimate against a method's own runs, in degrees of freedom.
    weight: f64,
    /// The degrees of freedom by which this estimate makes an interval more certain.
    freedom: f64,
}

impl Spread {
    /// Estimates the spread from all methods together. Methods are not independent, so they count
    /// as one.
    fn of_all(methods: &[Method<'_>], time: bool) -> Self {
        let measured = methods.iter().filter(|method| method.freedom > 0.0 && method.scale > 0.0);
        let sum: f64 = measured.clone().map(|method| method.variance / method.scale).sum();
        let mean = sum / count(measured.count().max(1));
        let freedom = methods.first().map_or(0.0, |method| method.freedom);
        if time {
            // For times nothing is known beforehand, because the speed of a machine varies, and
            // then all methods vary with it. The estimate uses the time of all methods together,
            // since a method with few samples varies by more than a machine.
            let variance: f64 = methods.iter().map(|method| method.variance).sum();
            let scale: f64 = methods.iter().map(|method| method.scale).sum();
            let variance = if scale > 0.0 { variance / scale } else { 0.0 };
            return Self { variance, weight: freedom.max(1.0), freedom: 0.0 };
        }
        let variance = (PRIOR_FREEDOM * USUAL_SPREAD + freedom * mean) / (PRIOR_FREEDOM + freedom);
        Self { variance, weight: PRIOR_FREEDOM, freedom: PRIOR_FREEDOM }
    }
}

/// The deviation of a method in each block of time that all runs share, such as a warm-up. It is
/// not chance, so it must not count as a difference between runs.
struct Pattern {
    blocks: Vec<f64>,
    /// The factor for squared deviations from the pattern. A shared pattern includes the run
    /// itself, so the run is nearer to it than to the mean of other runs.
    correction: f64,
}

impl Pattern {
    fn from_runs(sides: &[Vec<Run>; 2], name: &str, time: bool) -> Self {
        let runs: Vec<&Run> = sides.iter().flatten().collect();
        let blocks = runs.iter().map(|run| run.all.len()).max().unwrap_or(0);
        // Runs with different numbers of blocks share no pattern.
        if runs.iter().any(|run| run.all.len() != blocks) {
            return Self { blocks: vec![0.0; blocks], correction: 1.0 };
        }
        let many = count(runs.len());
        let deviations: Vec<Vec<f64>> = runs.iter().map(|run| run.deviations(name, time)).collect();
        let mean = |at: usize| deviations.iter().map(|of_run| of_run[at]).sum::<f64>() / many;
        Self { blocks: (0..blocks).map(mean).collect(), correction: many / (many - 1.0) }
    }
}

/// The values of a method in the runs of one side.
#[derive(Clone, Copy)]
struct Side {
    value: f64,
    /// The variance of the mean that comes from within runs.
    within: f64,
    /// The sum of the squared deviations of the runs from the mean.
    squares: f64,
    runs: f64,
}

impl Side {
    fn new(side: &[Run], name: &str, time: bool, pattern: &Pattern) -> Self {
        let runs = count(side.len());
        let value = mean(side, |run| run.value(name, time));
        let within = mean(side, |run| run.variance(name, time, pattern)) / runs;
        let squares = side.iter().map(|run| (run.value(name, time) - value).powi(2)).sum();
        Self { value, within, squares, runs }
    }
}

impl Run {
    fn time(&self) -> f64 {
        self.all.iter().sum()
    }

    fn own(&self, name: &str) -> f64 {
        self.methods.get(name).map_or(0.0, |blocks| blocks.iter().sum())
    }

    fn share(&self, name: &str) -> f64 {
        self.own(name) / self.time()
    }

    fn value(&self, name: &str, time: bool) -> f64 {
        if time { self.own(name) } else { self.share(name) }
    }

    /// Returns how much the method's value in each block of time deviates from this run's mean.
    fn deviations(&self, name: &str, time: bool) -> Vec<f64> {
        let (own, all, blocks) = (self.own(name), self.time(), count(self.all.len()));
        let of_method = self.methods.get(name);
        let deviation = |(at, all_of_block): (usize, &f64)| {
            let block = of_method.map_or(0.0, |of_method| of_method[at]);
            if time { block - own / blocks } else { (block - own / all * all_of_block) / all }
        };
        self.all.iter().enumerate().map(deviation).collect()
    }

    /// Returns the variance of the value, from the deviations of its blocks from the pattern of all
    /// runs. It is at least the variance of independent samples.
    fn variance(&self, name: &str, time: bool, pattern: &Pattern) -> f64 {
        let (own, all, blocks) = (self.own(name), self.time(), count(self.all.len()));
        let deviations = self.deviations(name, time);
        let squares: f64 =
            deviations.iter().zip(&pattern.blocks).map(|(one, usual)| (one - usual).powi(2)).sum();
        let squares = squares * pattern.correction * blocks / (blocks - 1.0);
        let counted = (own * (1.0 - own / all)).max(self.sample_ms) * self.sample_ms;
        squares.max(counted / if time { 1.0 } else { all * all })
    }
}

fn mean(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / count(runs.len())
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn count(number: usize) -> f64 {
    number as f64
}
