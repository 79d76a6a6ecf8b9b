//! Compares runs of a program that do not differ. Each difference that is reported is wrong.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::page::runner::{Jdk, Runner};
use crate::report;

/// Runs programs, and compares the runs of each.
pub struct Equal<'r> {
    pub runner: &'r Runner,
    pub jdk: &'r Jdk,
    pub seconds: u64,
    /// Runs of each program, after a warm-up run.
    pub runs: usize,
}

/// How many comparisons reported a difference, and how many there were.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reported {
    different: usize,
    compared: usize,
}

impl Equal<'_> {
    /// Returns the text before the table.
    pub fn text(&self) -> String {
        format!(
            "`cargo xtask page diff` writes this part: {} runs of {} s of each program on JDK {}. The last three\n\
             columns say how often a difference is reported although the runs do not differ. One run each: all\n\
             pairs. More runs each: as many others that ran in turns with them, beginning with each run.",
            self.runs, self.seconds, self.jdk.major
        )
    }

    /// Returns the table. The runs are those of last time if the table is made again.
    pub fn table(&self, programs: &[&str], again: bool) -> Result<String> {
        let mut rows = Vec::new();
        for program in programs {
            if !again {
                self.run(program)?;
            }
            rows.push(self.row(program)?);
        }
        let head = [
            "",
            "the method that differs most, in points: the middle one of all pairs (the most of all)",
            "1 run each",
            "3 runs each",
            "5 runs each",
        ];
        Ok(report::table(&head, rows))
    }

    fn file(&self, program: &str, run: usize) -> PathBuf {
        self.runner.runs.join(format!("{program}-{run}.json.gz"))
    }

    /// Runs a program. The first run is only a warm-up of the machine, so the next one replaces it.
    fn run(&self, program: &str) -> Result<()> {
        for (count, run) in std::iter::once(0).chain(0..self.runs).enumerate() {
            println!("{program}, run {count} of {}", self.runs);
            let log = self.runner.logs.join(format!("{program}.log"));
            let option = self.runner.agent(&format!("quiet,out={}", self.file(program, run).display()));
            let outcome = self.runner.workload(program, self.seconds, self.jdk, &[option], &log)?;
            outcome.check(program, &log)?;
        }
        Ok(())
    }

    fn row(&self, program: &str) -> Result<Vec<String>> {
        let mut pairs = Reported::default();
        let mut largest = Vec::new();
        for one in 0..self.runs {
            for other in one + 1..self.runs {
                let changes = compare(self.runner, &[self.file(program, one)], &[self.file(program, other)])?;
                pairs.add(&changes);
                largest.push(100.0 * largest_change(&changes));
            }
        }
        largest.sort_by(f64::total_cmp);
        let most = largest.last().context("two runs are needed at least")?;
        let middle = largest[(largest.len() - 1) / 2];
        let mut row = vec![format!("`{program}`"), format!("{middle:.1} ({most:.1})"), pairs.text()];
        for count in [3, 5] {
            row.push(self.several(program, count)?);
        }
        Ok(row)
    }

    /// Compares this many runs with as many others that alternated with them, beginning with each
    /// run.
    fn several(&self, program: &str, count: usize) -> Result<String> {
        if self.runs < 2 * count {
            return Ok("too few runs".to_owned());
        }
        let mut reported = Reported::default();
        for first in 0..self.runs {
            let [before, after] = alternating(first, count, self.runs)
                .map(|side| side.iter().map(|run| self.file(program, *run)).collect::<Vec<_>>());
            reported.add(&compare(self.runner, &before, &after)?);
        }
        Ok(reported.text())
    }
}

impl Reported {
    fn add(&mut self, changes: &Value) {
        self.compared += 1;
        let mut methods = changes["methods"].as_array().into_iter().flatten();
        self.different += usize::from(methods.any(|method| method["sure"] == true));
    }

    fn text(&self) -> String {
        format!("{} of {}", self.different, self.compared)
    }
}

/// Returns twice as many runs as this count from the first one on, in turns for both sides.
fn alternating(first: usize, count: usize, runs: usize) -> [Vec<usize>; 2] {
    [0, 1].map(|side| (0..count).map(|at| (first + 2 * at + side) % runs).collect())
}

/// Returns the largest change of a method's share.
fn largest_change(changes: &Value) -> f64 {
    let methods = changes["methods"].as_array().into_iter().flatten();
    methods.filter_map(|method| method["change"].as_f64()).map(f64::abs).fold(0.0, f64::max)
}

/// Compares two sides of one run or more with `vouch diff --json`.
fn compare(runner: &Runner, before: &[PathBuf], after: &[PathBuf]) -> Result<Value> {
    let mut diff = runner.vouch();
    diff.args(arguments(before, after)?).arg("--json");
    let output = diff.output().context("vouch diff")?;
    if !output.status.success() {
        bail!("vouch diff failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let changes: Value = serde_json::from_slice(&output.stdout).context("vouch diff --json")?;
    // A name that is renamed must not look as if nothing changed.
    let named = changes["methods"].as_array().is_some_and(|methods| {
        methods.iter().all(|method| method["sure"].is_boolean() && method["change"].is_number())
    });
    if named { Ok(changes) } else { bail!("vouch diff --json has no methods with `change` and `sure`") }
}

/// Returns the arguments of a comparison.
pub fn arguments<'p>(before: &'p [PathBuf], after: &'p [PathBuf]) -> Result<Vec<&'p Path>> {
    let (first, more_before) = before.split_first().context("no run before")?;
    let (second, more_after) = after.split_first().context("no run after")?;
    let mut arguments = vec![Path::new("diff"), first, second];
    for (option, more) in [("--before", more_before), ("--after", more_after)] {
        arguments.extend(more.iter().flat_map(|file| [Path::new(option), file]));
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_alternate_and_begin_anew_after_the_last_run() {
        assert_eq!(alternating(0, 3, 12), [vec![0, 2, 4], vec![1, 3, 5]]);
        assert_eq!(alternating(11, 2, 12), [vec![11, 1], vec![0, 2]]);
    }

    #[test]
    fn a_certain_change_counts_and_the_largest_one_is_shown() {
        let changes = serde_json::json!({"methods": [{"change": 0.02, "sure": false}, {"change": -0.03, "sure": true}]});
        let mut reported = Reported::default();
        reported.add(&changes);
        reported.add(&serde_json::json!({"methods": [{"change": 0.9, "sure": false}]}));
        assert_eq!(reported, Reported { different: 1, compared: 2 });
        assert!((largest_change(&changes) - 0.03).abs() < 1e-9);
    }

    #[test]
    fn the_first_run_of_each_side_has_no_option() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let (before, after) = (files(&["a", "b"]), files(&["c", "d"]));
        let words = arguments(&before, &after).unwrap();
        assert_eq!(words, ["diff", "a", "c", "--before", "b", "--after", "d"].map(Path::new));
        assert!(arguments(&before, &[]).is_err());
    }
}
