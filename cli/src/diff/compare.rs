//! Two sides, method by method: by how much they differ, and how much of that may be chance.
//!
//! It must never take two runs for two programs. Runs of one program differ by more than by sampling: the JIT compiler makes other code
//! of it each time, in which time moves from a method to its neighbours. How much, several runs of each side tell; of one run each it
//! is taken to be as much as was measured of programs that do not differ.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::run::Run;

/// A method that took a smaller share than that in both is not looked at.
const LEAST: f64 = 0.005;
/// How sure all intervals together are.
const SURE: f64 = 0.95;
/// By so much the share of a method differs from run to run, as a standard deviation: docs/reading.md has the measurement.
const OF_RUNS: f64 = 0.016;

/// So many runs of each side tell by themselves how much runs differ.
const ENOUGH: usize = 3;

/// What a method took, before and after, as a share or in milliseconds.
#[derive(Debug)]
pub struct Change {
    pub name: String,
    pub values: [f64; 2],
    /// By what is known of it: as these runs tell, and, of few, as was measured of others, as long as these do not contradict that.
    errors: Vec<Error>,
}

/// A standard error, and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct Error {
    error: f64,
    freedom: f64,
}

impl Error {
    /// So far from the middle lies what is met with this probability.
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
    pub fn of(sides: &[Vec<Run>; 2], time: bool) -> Self {
        let names: BTreeSet<&String> = sides.iter().flatten().flat_map(|run| run.methods.keys()).collect();
        let matters = |name: &&&String| sides.iter().any(|side| mean(side, |run| run.share(name)) >= LEAST);
        let mut changes: Vec<Change> =
            names.iter().filter(matters).map(|name| change(sides, name, time)).collect();
        changes.sort_by(|one, other| {
            other.by().abs().total_cmp(&one.by().abs()).then_with(|| one.name.cmp(&other.name))
        });
        Self { changes, single: sides.iter().all(|side| side.len() == 1), time }
    }

    /// Half of the interval in which a change lies. As many intervals as there are methods: each is surer, so that all of them are.
    pub fn half_width(&self, change: &Change) -> f64 {
        let many = count(self.changes.len().max(1));
        let half = |error: &Error| error.quantile(1.0 - (1.0 - SURE) / (2.0 * many));
        change.errors.iter().map(half).fold(f64::INFINITY, f64::min)
    }

    /// In which a change lies: of no more than there is.
    pub fn interval(&self, change: &Change) -> [f64; 2] {
        let (by, sure) = (change.by(), self.half_width(change));
        [by - sure, by + sure].map(|end| if self.time { end } else { end.clamp(-1.0, 1.0) })
    }

    /// A change of this size would be told in four of five cases.
    pub fn noticed(&self, change: &Change) -> f64 {
        let more = change.errors.iter().map(|error| error.quantile(0.8)).fold(f64::INFINITY, f64::min);
        self.half_width(change) + more
    }

    pub fn is_sure(&self, change: &Change) -> bool {
        change.by().abs() > self.half_width(change)
    }

    /// What took most, before.
    pub fn hottest(&self) -> Option<&Change> {
        self.changes.iter().max_by(|one, other| one.values[0].total_cmp(&other.values[0]))
    }
}

fn change(sides: &[Vec<Run>; 2], name: &str, time: bool) -> Change {
    let both = [&sides[0], &sides[1]].map(|side| Side::of(side, name, time));
    let values = both.map(|side| side.value);
    let mut errors = Vec::new();
    let known = both.iter().filter_map(|side| side.between).reduce(f64::max);
    if let Some(known) = known {
        // After Welch and Satterthwaite: the sides need not be equally sure. A side of one run is taken to be as the other one.
        let terms = both.map(|side| side.within.max(side.between.unwrap_or(known) / side.runs));
        let several = both.iter().filter(|side| side.between.is_some()).map(|side| side.freedom);
        let least = several.fold(f64::INFINITY, f64::min);
        let variance: f64 = terms.iter().sum();
        let parts = terms.iter().zip(both).map(|(term, side)| term.powi(2) / side.freedom.min(least));
        let freedom = variance.powi(2) / parts.sum::<f64>().max(f64::MIN_POSITIVE);
        errors.push(Error { error: variance.sqrt(), freedom: freedom.max(1.0) });
    }
    // Enough runs speak for themselves: whichever of both was the surer one would be too sure of a program whose runs differ by more than most do, and
    // here by chance did not. And of time nothing is known beforehand: machines are not equally fast at all times.
    let few = sides.iter().any(|side| side.len() < ENOUGH);
    if !time && few && known.is_none_or(|known| known <= OF_RUNS.powi(2)) {
        let variance: f64 = both.iter().map(|side| side.within + OF_RUNS.powi(2) / side.runs).sum();
        let blocks: usize = sides.iter().flatten().map(|run| run.all.len() - 1).sum();
        errors.push(Error { error: variance.sqrt(), freedom: count(blocks) });
    }
    Change { name: name.to_owned(), values, errors }
}

/// What one side's runs tell of a method.
#[derive(Clone, Copy)]
struct Side {
    value: f64,
    /// The variance of that, as far as each run tells what it was itself.
    within: f64,
    /// The variance of runs, if there are several.
    between: Option<f64>,
    runs: f64,
    /// Of what is known of the variance: of several runs that between them.
    freedom: f64,
}

impl Side {
    fn of(side: &[Run], name: &str, time: bool) -> Self {
        let runs = count(side.len());
        let value = mean(side, |run| run.value(name, time));
        let within = mean(side, |run| run.variance(name, time)) / runs;
        let squares: f64 = side.iter().map(|run| (run.value(name, time) - value).powi(2)).sum();
        let several = side.len() > 1;
        let between = several.then(|| squares / (runs - 1.0));
        let blocks: usize = side.iter().map(|run| run.all.len() - 1).sum();
        Self { value, within, between, runs, freedom: if several { runs - 1.0 } else { count(blocks) } }
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

    /// Of the value, by how the blocks of time differ; and no less than as if each sample were counted by itself.
    fn variance(&self, name: &str, time: bool) -> f64 {
        let (own, all, blocks) = (self.own(name), self.time(), count(self.all.len()));
        let expected = |all_of_block: f64| if time { own / blocks } else { own / all * all_of_block };
        let of_method = self.methods.get(name);
        let squares = self.all.iter().enumerate().map(|(at, all_of_block)| {
            let block = of_method.map_or(0.0, |of_method| of_method[at]);
            (block - expected(*all_of_block)).powi(2)
        });
        let squares = squares.sum::<f64>() * blocks / (blocks - 1.0);
        let counted = (own * (1.0 - own / all)).max(self.sample_ms) * self.sample_ms;
        squares.max(counted) / if time { 1.0 } else { all * all }
    }
}

fn mean(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / count(runs.len())
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn count(number: usize) -> f64 {
    number as f64
}
