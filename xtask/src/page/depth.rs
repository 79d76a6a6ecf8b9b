//! Makes the table of docs/cost.md on depth: the handler's time by the depth of the stack, with
//! each walker. The stacks are those of a recursion of each depth.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use vouch_report::{float, grouped};

use super::document::Output;
use super::interface::Page;
use super::runner::{Outcome, Runner, files_with_ending, last_line, processors};
use crate::report::{RunReport, reports, table};

/// What a sample costs by the depth of its stack, with each walker
///
/// It must never compare runs that were not taken in turns.
#[derive(Args, Debug)]
pub struct Depth {
    /// How long each run takes
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Runs of each walker at each depth
    #[arg(long, default_value_t = 5)]
    runs: u32,
    #[arg(long, value_delimiter = ' ', default_value = "25")]
    jdks: Vec<u32>,
    /// How many frames the recursion has
    #[arg(long, value_delimiter = ' ', default_value = "10 30 100 300 1000 3000 10000 20000")]
    depths: Vec<u32>,
    #[arg(long, value_delimiter = ' ', default_value = "compiled interpreted")]
    modes: Vec<Mode>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    Compiled,
    Interpreted,
}

impl Mode {
    fn name_and_option(self) -> (&'static str, &'static str) {
        match self {
            Self::Compiled => ("compiled", "-XX:+UseG1GC"),
            Self::Interpreted => ("interpreted", "-Xint"),
        }
    }
}

impl Page for Depth {
    const NAME: &'static str = "depth";
    const DOCUMENT: &'static str = "docs/cost.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let mut failed = 0;
        for jdk in runner.jdks(&self.jdks)? {
            for (mode, option) in self.modes.iter().map(|mode| mode.name_and_option()) {
                for depth in &self.depths {
                    for (run, walker) in (1..=self.runs).flat_map(|run| [(run, "asgct"), (run, "own")]) {
                        print!(
                            "JDK {}, {mode}, {depth} frames, run {run} of {}, {walker:<5}: ",
                            jdk.major, self.runs
                        );
                        let name = format!("{}-{mode}.{walker}.{depth}.{run}-deep", jdk.major);
                        let report = runner.runs.join(format!("{name}.json"));
                        let log = runner.logs.join(format!("{name}.log"));
                        // A walk of the deepest stack takes longer than 100 µs. At a shorter
                        // interval such stacks would be sampled less often than the others.
                        let agent = runner.agent(&format!(
                            "interval=10ms,depth=30000,quiet,witness=off,walker={walker},\
                             out={}/profile.folded,report={}",
                            runner.runs.display(),
                            report.display()
                        ));
                        let depth = format!("-Ddepth={depth}");
                        let options = [option, &depth, "-Xss64m", &agent];
                        if runner.workload("deep", self.seconds, &jdk, &options, &log)? != Outcome::Done {
                            failed += 1;
                            let _ = std::fs::remove_file(report);
                        }
                        println!("{}", last_line(&log));
                    }
                }
            }
        }
        let table = page(&reports(&files_with_ending(&runner.runs, ".json")?)?)?;
        let text = format!(
            "{} runs of {} s of each, on a machine of {} processors: the middle one, and from the least to the most.",
            self.runs,
            self.seconds,
            processors()
        );
        self.output.put(Self::DOCUMENT, "depth-page", &text, &table)?;
        runner.report_failed(failed)
    }
}

/// For each mode, JDK, depth and walker: the 90th percentile of the handler's time in each run, in
/// nanoseconds.
type Costs = BTreeMap<(String, u32, u32), BTreeMap<String, Vec<u64>>>;

/// Returns the table of these runs. The mode of each is `MODE.WALKER.DEPTH.RUN`.
fn page(reports: &[RunReport]) -> Result<String> {
    let mut costs = Costs::new();
    for of in reports {
        let parts: Vec<&str> = of.mode.split('.').collect();
        let &[mode, walker, depth, _] = parts.as_slice() else {
            bail!("'{}' is no MODE.WALKER.DEPTH.RUN", of.mode);
        };
        let depth = depth.parse().map_err(|_| anyhow!("'{depth}' is no depth"))?;
        let walkers = costs.entry((mode.to_owned(), of.major, depth)).or_default();
        let handler =
            of.report.run.handler_ns.with_context(|| format!("'{}' reports no handler", of.mode))?;
        walkers.entry(walker.to_owned()).or_default().push(handler.p90);
    }
    let head = ["code", "JDK", "frames", "AsyncGetCallTrace", "own walker", "own / AsyncGetCallTrace"];
    let rows = costs.into_iter().map(|((mode, major, depth), walkers)| {
        let [asgct, own] = ["asgct", "own"].map(|walker| walkers.get(walker).and_then(|runs| middle(runs)));
        let ratio = asgct.zip(own).map(|(asgct, own)| format!("{:.2}", float(own.1) / float(asgct.1)));
        let told = |cost: Option<(u64, u64, u64)>| cost.map_or_else(|| "-".to_owned(), shown);
        let ratio = ratio.unwrap_or_else(|| "-".to_owned());
        vec![mode, major.to_string(), grouped(depth.into()), told(asgct), told(own), ratio]
    });
    Ok(table(&head, rows))
}

/// Returns the minimum, the median and the maximum of these values.
fn middle(runs: &[u64]) -> Option<(u64, u64, u64)> {
    let mut runs = runs.to_vec();
    runs.sort_unstable();
    Some((*runs.first()?, *runs.get(runs.len() / 2)?, *runs.last()?))
}

/// Formats a time with its range, such as `12.3 µs (11.9 to 14)`.
fn shown((least, middle, most): (u64, u64, u64)) -> String {
    let micros = |nanos: u64| (float(nanos) / 100.0).round() / 10.0;
    format!("{} µs ({} to {})", micros(middle), micros(least), micros(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::HandlerTime;

    fn cost(mode: &str, nanos: u64) -> RunReport {
        let mut of = report(25, mode, "deep");
        of.report.run.handler_ns = Some(HandlerTime { p90: nanos, ..HandlerTime::default() });
        of
    }

    #[test]
    fn a_row_has_the_middle_of_both_walkers_and_how_they_compare() {
        let runs = [
            ("compiled.asgct.30.1", 4_000),
            ("compiled.asgct.30.2", 6_000),
            ("compiled.asgct.30.3", 5_000),
            ("compiled.own.30.1", 2_500),
            ("interpreted.own.1000.1", 70_040),
        ];
        let page = page(&runs.map(|(mode, nanos)| cost(mode, nanos))).unwrap();
        let rows: Vec<&str> = page.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| compiled | 25 | 30 | 5 µs (4 to 6) | 2.5 µs (2.5 to 2.5) | 0.50 |",
                "| interpreted | 25 | 1,000 | - | 70 µs (70 to 70) | - |"
            ]
        );
    }

    #[test]
    fn a_run_that_is_of_something_else_is_refused() {
        assert!(page(&[cost("g1", 1)]).unwrap_err().to_string().contains("'g1'"));
        assert!(page(&[cost("compiled.own.deep.1", 1)]).unwrap_err().to_string().contains("'deep'"));
    }
}
