//! Two sides, method by method: by how much they differ, and how much of that may be chance.
//!
//! It must never take two runs for two programs. Runs of one program differ by more than by
//! sampling: the JIT compiler makes other code of it each time, in which time moves from a method
//! to its neighbours. How much a method differs from run to run is estimated from its own runs,
//! from those of all methods, and from what was measured of other programs, each by its degrees of
//! freedom. So more runs never make an interval wider but by what they show.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::run::Run;

/// A method that took a smaller share than that in both is not compared.
const MIN_SHARE: f64 = 0.005;
/// The probability that all intervals together hold.
const CONFIDENCE: f64 = 0.95;
/// The variance of a method's share `p` from run to run, in units of `p (1 - p)`, as it was
/// measured of other programs: 1.5 points for a method with a tenth of the time. docs/diff.md has
/// the measurement.
const USUAL_SPREAD: f64 = 0.016 * 0.016 / 0.1;
/// How many degrees of freedom what is not measured of this very method counts for.
const PRIOR_FREEDOM: f64 = 10.0;

/// What a method took, before and after, as a share or in milliseconds.
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
    /// How far from the middle a value is that is not exceeded with this probability.
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
    /// What changed most comes first.
    pub changes: Vec<Change>,
    /// There is one run of each side.
    pub single: bool,
    /// By their time, and not their share of it.
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

    /// Half of the width of a change's interval. Each is wider than for one method, so that all
    /// intervals together hold.
    pub fn half_width(&self, change: &Change) -> f64 {
        let many = count(self.changes.len().max(1));
        change.error.quantile(1.0 - (1.0 - CONFIDENCE) / (2.0 * many))
    }

    /// The interval of a change. No share changes by more than all of it.
    pub fn interval(&self, change: &Change) -> [f64; 2] {
        let (by, sure) = (change.by(), self.half_width(change));
        [by - sure, by + sure].map(|end| if self.time { end } else { end.clamp(-1.0, 1.0) })
    }

    /// A change of this size would be seen in four of five cases.
    pub fn noticed(&self, change: &Change) -> f64 {
        self.half_width(change) + change.error.quantile(0.8)
    }

    pub fn is_sure(&self, change: &Change) -> bool {
        change.by().abs() > self.half_width(change)
    }

    /// What took most, before.
    pub fn hottest(&self) -> Option<&Change> {
        self.changes.iter().max_by(|one, other| one.values[0].total_cmp(&other.values[0]))
    }
}

/// What the runs of both sides say of a method.
struct Method<'n> {
    name: &'n str,
    sides: [Side; 2],
    /// The variance from run to run, and its degrees of freedom: 0 if there is one run of each
    /// side.
    variance: f64,
    freedom: f64,
    /// What that variance is in proportion to.
    scale: f64,
}

impl<'n> Method<'n> {
    fn new(both: &[Vec<Run>; 2], name: &'n str, time: bool) -> Self {
        let pattern = Pattern::from_runs(both, name, time);
        let sides = both.each_ref().map(|side| Side::new(side, name, time, &pattern));
        let freedom: f64 = sides.iter().map(|side| side.runs - 1.0).sum();
        let squares: f64 = sides.iter().map(|side| side.squares).sum();
        // Of a side of many runs no more than of the other: what is rare on one side need not be on
        // both.
        let value = sides.iter().map(|side| side.value).sum::<f64>() / 2.0;
        Self {
            name,
            sides,
            variance: if freedom > 0.0 { squares / freedom } else { 0.0 },
            freedom,
            scale: if time { value * value } else { value * (1.0 - value) },
        }
    }

    /// Its change, where methods differ from run to run as `spread` says, as far as this one's own
    /// runs do not say otherwise.
    fn change(&self, spread: &Spread) -> Change {
        let weight = spread.weight + self.freedom;
        let between = (spread.weight * spread.variance * self.scale + self.freedom * self.variance) / weight;
        // Of time nothing but this method's own runs has degrees of freedom. So it is never taken
        // for surer than they are.
        let between = if spread.freedom > 0.0 { between } else { between.max(self.variance) };
        // What this method's own runs differ by includes the chance of sampling. What others differ
        // by does not.
        let others = spread.weight / weight;
        let error: f64 =
            self.sides.iter().map(|side| side.within.max(others * side.within + between / side.runs)).sum();
        let (error, freedom) = (error.sqrt(), spread.freedom + self.freedom);
        let values = self.sides.each_ref().map(|side| side.value);
        Change { name: self.name.to_owned(), values, error: Error { error, freedom } }
    }
}

/// How much methods differ from run to run, in units of their scale.
struct Spread {
    variance: f64,
    /// How much it counts beside a method's own runs, in their degrees of freedom.
    weight: f64,
    /// By how many degrees of freedom an interval is surer for it.
    freedom: f64,
}

impl Spread {
    /// Of all methods together. They are not independent, so they count as one.
    fn of_all(methods: &[Method<'_>], time: bool) -> Self {
        let measured = methods.iter().filter(|method| method.freedom > 0.0 && method.scale > 0.0);
        let sum: f64 = measured.clone().map(|method| method.variance / method.scale).sum();
        let mean = sum / count(measured.count().max(1));
        let freedom = methods.first().map_or(0.0, |method| method.freedom);
        if time {
            // Of time nothing is known beforehand: machines are not equally fast at all times, and
            // then no method is. By all their time together: a method with few samples differs by
            // more than a machine does.
            let variance: f64 = methods.iter().map(|method| method.variance).sum();
            let scale: f64 = methods.iter().map(|method| method.scale).sum();
            let variance = if scale > 0.0 { variance / scale } else { 0.0 };
            return Self { variance, weight: freedom.max(1.0), freedom: 0.0 };
        }
        let variance = (PRIOR_FREEDOM * USUAL_SPREAD + freedom * mean) / (PRIOR_FREEDOM + freedom);
        Self { variance, weight: PRIOR_FREEDOM, freedom: PRIOR_FREEDOM }
    }
}

/// What a method has more or less in each block of time in all runs, such as in a warm-up. It is no
/// chance, so it says nothing of how much runs differ.
struct Pattern {
    blocks: Vec<f64>,
    /// A run is nearer to a mean that it is part of itself than to that of other runs.
    correction: f64,
}

impl Pattern {
    fn from_runs(sides: &[Vec<Run>; 2], name: &str, time: bool) -> Self {
        let runs: Vec<&Run> = sides.iter().flatten().collect();
        let blocks = runs.iter().map(|run| run.all.len()).max().unwrap_or(0);
        // Where runs are cut into different numbers of blocks they have none in common.
        if runs.iter().any(|run| run.all.len() != blocks) {
            return Self { blocks: vec![0.0; blocks], correction: 1.0 };
        }
        let many = count(runs.len());
        let deviations: Vec<Vec<f64>> = runs.iter().map(|run| run.deviations(name, time)).collect();
        let mean = |at: usize| deviations.iter().map(|of_run| of_run[at]).sum::<f64>() / many;
        Self { blocks: (0..blocks).map(mean).collect(), correction: many / (many - 1.0) }
    }
}

/// What one side's runs say of a method.
#[derive(Clone, Copy)]
struct Side {
    value: f64,
    /// The variance of the value within runs.
    within: f64,
    /// The sum of squares of what the runs are off that value.
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

    /// By how much the method has more in each block of time than on the average of this run.
    fn deviations(&self, name: &str, time: bool) -> Vec<f64> {
        let (own, all, blocks) = (self.own(name), self.time(), count(self.all.len()));
        let of_method = self.methods.get(name);
        let deviation = |(at, all_of_block): (usize, &f64)| {
            let block = of_method.map_or(0.0, |of_method| of_method[at]);
            if time { block - own / blocks } else { (block - own / all * all_of_block) / all }
        };
        self.all.iter().enumerate().map(deviation).collect()
    }

    /// Of the value, by how the blocks of time differ beside the pattern of all runs; and no less
    /// than as if each sample were counted by itself.
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
