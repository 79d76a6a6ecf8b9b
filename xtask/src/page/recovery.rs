//! Makes the tables of docs/recovery.md: the share of bad stacks of Java code by each walker, with
//! recovery and without, and by async-profiler on the same programs. They also show what each
//! recovery strategy found.

mod peer;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use vouch_report::{RecoveryReport, TrustReport, float, grouped};

use super::document::Output;
use super::interface::Page;
use super::runner::{Jdk, Outcome, Runner, files_with_ending, last_line, processors};
use crate::report::{RunReport, percent, share, table};
use peer::Stacks;

/// How many stacks recovery brings back in programs that are hard on a stack walker
///
/// Each program runs in turns without recovery, with it, by the own walker, by both walkers, and
/// under async-profiler as it comes. Runs that were not taken in turns must never be compared.
#[derive(Args, Debug)]
pub struct Recovery {
    /// How long each run takes
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Runs of each kind
    #[arg(long, default_value_t = 5)]
    runs: u32,
    #[arg(long, value_delimiter = ' ', default_value = "17 21 25 27")]
    jdks: Vec<u32>,
    /// Programs of java-tests/workloads; NAME.int runs interpreted
    #[arg(long, value_delimiter = ' ', default_value = "deep maps crowd crowd.int javac adverse")]
    programs: Vec<String>,
    #[command(flatten)]
    output: Output,
}

impl Page for Recovery {
    const NAME: &'static str = "recovery";
    const DOCUMENT: &'static str = "docs/recovery.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        let library = runner.fetch_peer()?;
        runner.clear_runs()?;
        let mut failed = 0;
        for jdk in runner.jdks(&self.jdks)? {
            for program in &self.programs {
                for run in 1..=self.runs {
                    for (kind, _) in KINDS {
                        print!("JDK {}, {program}, run {run} of {}: {kind:<4} ", jdk.major, self.runs);
                        let name = format!("{}-{kind}.{run}-{program}", jdk.major);
                        failed += u32::from(!self.run(&runner, &library, &jdk, program, kind, &name)?);
                    }
                }
            }
        }
        let mut files = files_with_ending(&runner.runs, ".json")?;
        files.extend(files_with_ending(&runner.runs, ".collapsed")?);
        if files.is_empty() {
            bail!("nothing ran: scripts/jdks fetches JDKs");
        }
        let text = format!(
            "{} runs of {} s of each, at 1 ms, on a machine of {} processors: the median, and the\nrange in parentheses.",
            self.runs,
            self.seconds,
            processors()
        );
        self.output.put(Self::DOCUMENT, "recovery-page", &text, &page(&files)?)?;
        runner.report_failed(failed)
    }
}

impl Recovery {
    /// Runs a program once. Returns false if the run failed.
    fn run(
        &self,
        runner: &Runner,
        library: &str,
        jdk: &Jdk,
        program: &str,
        kind: &str,
        name: &str,
    ) -> Result<bool> {
        let runs = runner.runs.display();
        let vouch = |walker: &str| {
            runner.agent(&format!(
                "interval=1ms,quiet,out={runs}/profile.folded,report={runs}/{name}.json{walker}"
            ))
        };
        let agent = match kind {
            "off" => vouch(",walker=asgct,recovery=off"),
            "on" => vouch(",walker=asgct"),
            "own" => vouch(",walker=own"),
            "auto" => vouch(""),
            _ => format!(
                "-agentpath:{library}=start,event=cpu,interval=1ms,collapsed,threads,ann,file={runs}/{name}.collapsed"
            ),
        };
        let (workload, mode) = match program.strip_suffix(".int") {
            Some(workload) => (workload, Some("-Xint")),
            None => (program, None),
        };
        let options: Vec<&str> = mode.into_iter().chain([agent.as_str()]).collect();
        let log = runner.logs.join(format!("{name}.log"));
        let outcome = runner.workload(workload, self.seconds, jdk, &options, &log)?;
        if outcome != Outcome::Done {
            for ending in ["json", "collapsed"] {
                let _ = fs::remove_file(runner.runs.join(format!("{name}.{ending}")));
            }
        }
        println!("{}", last_line(&log));
        Ok(!matches!(outcome, Outcome::Failed(_)))
    }
}

/// The share of bad stacks in each run.
type Runs = Vec<f64>;

/// The runs of a program on a JDK, by the profiler and its mode.
type Kinds = BTreeMap<String, Runs>;

/// The columns of the table: the mode of the runs, and the heading.
const KINDS: [(&str, &str); 5] = [
    ("off", "AsyncGetCallTrace"),
    ("on", "with recovery"),
    ("own", "own walker"),
    ("auto", "both"),
    ("peer", "async-profiler"),
];

/// Returns the tables of these files: `MAJOR-MODE.RUN-PROGRAM.json` is a trust report,
/// `….collapsed` has async-profiler's stacks.
fn page(files: &[PathBuf]) -> Result<String> {
    let mut programs: BTreeMap<(String, u32), Kinds> = BTreeMap::new();
    let mut strategies: BTreeMap<String, RecoveryReport> = BTreeMap::new();
    for file in files {
        let (named, bad) = if file.extension().is_some_and(|ending| ending == "collapsed") {
            let folded = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
            let Stacks { java, bad } = Stacks::from_folded(&folded);
            (RunReport::named(file, TrustReport::default())?, float(bad) / float(java))
        } else {
            let of = RunReport::read(file)?;
            let bad = bad(&of.report);
            (of, bad)
        };
        for (name, it) in &named.report.run.recovery {
            let sum = strategies.entry(name.clone()).or_default();
            sum.tried += it.tried;
            sum.walked += it.walked;
            sum.proven += it.proven;
            sum.plausible += it.plausible;
            sum.refuted += it.refuted;
        }
        let kind = named.kind().to_owned();
        programs.entry((named.program, named.major)).or_default().entry(kind).or_default().push(bad);
    }
    let head = ["program", "JDK"].into_iter().chain(KINDS.map(|(_, column)| column));
    let rows = programs.into_iter().map(|((program, major), kinds)| {
        let cells =
            KINDS.map(|(kind, _)| kinds.get(kind).map_or_else(|| "-".to_owned(), |runs| median(runs)));
        [program, major.to_string()].into_iter().chain(cells).collect()
    });
    let shares = table(&head.collect::<Vec<&str>>(), rows);
    let brought = strategies.iter().map(|(name, it)| {
        vec![
            format!("`{name}`"),
            grouped(it.tried),
            grouped(it.walked),
            share(it.proven, it.walked),
            share(it.plausible, it.walked),
            share(it.refuted, it.walked),
        ]
    });
    let brought = table(&["strategy", "tried", "walked", "proven", "plausible", "refuted"], brought);
    Ok(format!("{shares}\n{brought}"))
}

/// Returns the share of bad stacks, by the time of a report's samples of Java code.
fn bad(report: &TrustReport) -> f64 {
    let fates = report.weights();
    let bad = fates.refuted + fates.unwalked;
    bad / (bad + fates.proven + fates.plausible)
}

/// Formats the median with the minimum and maximum, such as `0.25 % (0.2 to 0.31)`.
fn median(runs: &[f64]) -> String {
    let mut runs = runs.to_vec();
    runs.sort_unstable_by(f64::total_cmp);
    let middle = percent(runs[runs.len() / 2], 1.0);
    match runs.as_slice() {
        [least, _, .., most] => {
            let number = |share: &f64| percent(*share, 1.0).replace(" %", "");
            format!("{middle} ({} to {})", number(least), number(most))
        }
        _ => middle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_range_of_runs_are_shown() {
        assert_eq!(median(&[0.05, 0.01, 0.03]), "3 % (1 to 5)");
        assert_eq!(median(&[0.2]), "20 %");
    }

    #[test]
    fn a_report_is_as_bad_as_its_time_without_a_stack_that_holds() {
        let mut report = TrustReport::default();
        let fates = &mut report.weight_ms.get_or_insert_default().fates;
        (fates.proven, fates.plausible, fates.refuted, fates.unwalked) = (90.0, 6.0, 1.0, 3.0);
        (fates.outside, fates.dropped) = (1_000.0, 1_000.0);
        assert!((bad(&report) - 0.04).abs() < 1e-9);
    }
}
