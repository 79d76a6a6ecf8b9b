//! Makes the part of docs/proof.md on true stacks: what was checked, the explanations, and the
//! refutations. Each refutation of a true stack is a false alarm.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use vouch_report::grouped;

use super::document::put_into;
use super::interface::Page;
use super::runner::{Outcome, Runner, files_with_ending, last_line, shown};
use crate::report::{RunReport, kinds, reports, table};

/// Stacks by GetStackTrace, which are true, checked against the bytecode
///
/// Real programs run while GetStackTrace takes the stack of every Java thread, over and over. The
/// stacks are true, so each refutation is a false alarm, and a failure. It must never count a run
/// that did not do its work.
#[derive(Args, Debug)]
pub struct TrueStacks {
    /// How long each run takes
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// JDKs; all that are here by default
    #[arg(long, value_delimiter = ' ')]
    jdks: Vec<u32>,
    #[arg(long, value_delimiter = ' ', default_value = "mixed int comp")]
    modes: Vec<Mode>,
    /// Programs of java-tests/workloads; all by default
    #[arg(long, value_delimiter = ' ')]
    workloads: Vec<String>,
    /// Put the last run of each program into the document
    #[arg(long)]
    page: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    Mixed,
    Int,
    Comp,
}

impl Mode {
    fn name_and_option(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Mixed => ("mixed", None),
            Self::Int => ("int", Some("-Xint")),
            Self::Comp => ("comp", Some("-Xcomp")),
        }
    }
}

impl Page for TrueStacks {
    const NAME: &'static str = "true-stacks";
    const DOCUMENT: &'static str = "docs/proof.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        let all_workloads = runner.variable("WORKLOADS[*]")?;
        let workloads: Vec<&str> = match self.workloads.as_slice() {
            [] => all_workloads.split(' ').collect(),
            named => named.iter().map(String::as_str).collect(),
        };
        let (mut runs, mut failed, mut left_out) = (0, 0, 0);
        let mut ended_well = Vec::new();
        for jdk in runner.jdks(&self.jdks)? {
            for (mode, option) in self.modes.iter().map(|mode| mode.name_and_option()) {
                for name in &workloads {
                    let row = format!("{:<3} {mode:<6} {name:<9}", jdk.major);
                    let run = format!("{}-{mode}-{name}", jdk.major);
                    let log = runner.logs.join(format!("{run}.log"));
                    // The file becomes a run's report when the run has succeeded.
                    let new = runner.logs.join("new.json");
                    let _ = fs::remove_file(&new);
                    let agent = runner.lab_agent(&format!(
                        "lab=true-stacks,quiet,out={}/profile.folded,report={}",
                        runner.runs.display(),
                        new.display()
                    ));
                    let options: Vec<&str> = option.into_iter().chain([agent.as_str()]).collect();
                    let outcome = runner.workload(name, self.seconds, &jdk, &options, &log)?;
                    if outcome == Outcome::CannotRun {
                        left_out += 1;
                        println!("{row} left out: {}", last_line(&log));
                        continue;
                    }
                    runs += 1;
                    let is_written = fs::metadata(&new).is_ok_and(|file| file.len() > 0);
                    if outcome != Outcome::Done || !is_written {
                        failed += 1;
                        println!("{row} FAILED with {outcome:?}: see {}", shown(&log));
                        continue;
                    }
                    let report = runner.runs.join(format!("{run}.json"));
                    fs::rename(&new, &report).with_context(|| shown(&new))?;
                    print!("{}", lines(&[RunReport::read(&report)?]));
                    ended_well.push(report);
                }
            }
        }
        if ended_well.is_empty() {
            bail!("nothing ran");
        }
        let reports_now = reports(&ended_well)?;
        let (sums, _) = sums_and_table(&reports_now);
        println!("{sums}");
        if self.page {
            let all = reports(&files_with_ending(&runner.runs, ".json")?)?;
            let (sums, table) = sums_and_table(&all);
            let programs = format!(
                "{} runs are all of `{all_workloads}` in mixed mode, with -Xint and with -Xcomp. Fewer runs are a part of these.",
                3 * all_workloads.split(' ').count()
            );
            let sums: Vec<String> = sums.lines().map(wrapped).collect();
            let text = format!("\n{}\n\n{}\n\n{table}\n", sums.join("\n"), wrapped(&programs));
            put_into(Self::DOCUMENT.as_ref(), "true-stacks", &text)?;
        }
        let refuted = all_refuted(&reports_now);
        println!("{runs} runs, {failed} failed, {left_out} left out; {refuted} stacks refuted");
        if refuted == 0 && failed == 0 {
            Ok(())
        } else {
            Err(anyhow!("a true stack was refuted, or a run failed"))
        }
    }
}

/// Wraps a line at 100 columns.
fn wrapped(line: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 100 {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text
}

/// At most this many refutations of a run are printed.
const MAX_REFUTATIONS: usize = 11;

/// Returns a line for each run with its refutations, followed by the sums.
fn lines(reports: &[RunReport]) -> String {
    let mut text = String::new();
    for of in reports {
        let (edges, samples) = (&of.report.run.edges, &of.report.samples);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:<3} {:<6} {:<9} {} edges in {} stacks, {} distinct: {} proven, {} explained, {} stacks refuted",
            of.major,
            of.mode,
            of.program,
            edges.checked,
            samples.signals,
            edges.distinct,
            edges.proven,
            of.explained(),
            samples.fates.refuted
        );
        for told in of.report.run.refutations.iter().take(MAX_REFUTATIONS) {
            let _ = writeln!(
                text,
                "    {}, {} times: {} at {}: {}; found {}",
                told.kind.name(),
                told.count,
                told.caller,
                told.bci,
                told.expected,
                told.found
            );
        }
    }
    text
}

/// Returns two lines of sums, and a table by JDK.
fn sums_and_table(reports: &[RunReport]) -> (String, String) {
    let sum = |figure: fn(&RunReport) -> u64| reports.iter().map(figure).sum::<u64>();
    let mut explained = BTreeMap::new();
    for (how, count) in reports.iter().flat_map(|of| &of.report.run.edges.explained) {
        *explained.entry(how.clone()).or_default() += count;
    }
    let mut majors: Vec<u32> = reports.iter().map(|of| of.major).collect();
    majors.sort_unstable();
    majors.dedup();
    let rows = majors.into_iter().map(|major| {
        let of_jdk: Vec<&RunReport> = reports.iter().filter(|of| of.major == major).collect();
        let sum = |figure: fn(&RunReport) -> u64| grouped(of_jdk.iter().map(|of| figure(of)).sum());
        let figures = [
            stacks,
            checked,
            distinct,
            |of: &RunReport| of.report.run.edges.proven,
            RunReport::explained,
            refuted,
        ];
        [major.to_string(), of_jdk.len().to_string()].into_iter().chain(figures.map(sum)).collect()
    });
    let sums = format!(
        "{} edges of {} true stacks were checked, {} of them distinct in their run; {} stacks were refuted.\nExplained: {}.",
        grouped(sum(checked)),
        grouped(sum(stacks)),
        grouped(sum(distinct)),
        all_refuted(reports),
        kinds(&explained)
    );
    let head = ["JDK", "runs", "stacks", "edges", "distinct", "proven", "explained", "refuted stacks"];
    (sums, table(&head, rows))
}

/// Returns the number of refuted stacks, each a false alarm.
fn all_refuted(reports: &[RunReport]) -> u64 {
    reports.iter().map(refuted).sum()
}

fn stacks(of: &RunReport) -> u64 {
    of.report.samples.signals
}

fn checked(of: &RunReport) -> u64 {
    of.report.run.edges.checked
}

fn distinct(of: &RunReport) -> u64 {
    of.report.run.edges.distinct
}

fn refuted(of: &RunReport) -> u64 {
    of.report.samples.fates.refuted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn lines_are_wrapped_at_a_hundred_columns() {
        let words = "word ".repeat(30);
        let lines: Vec<usize> = wrapped(words.trim_end()).lines().map(str::len).collect();
        assert_eq!(lines, [99, 49]);
    }

    #[test]
    fn runs_are_added_up_by_jdk() {
        let runs = [report(17, "int", "mix"), report(8, "mixed", "mix"), report(17, "mixed", "script")];
        let (sums, table) = sums_and_table(&runs);
        let page = format!("{sums}\n\n{table}");
        assert!(
            page.starts_with("3,703,701 edges of 3,000 true stacks were checked, 180 of them distinct"),
            "{page}"
        );
        assert!(
            page.contains("; 60 stacks were refuted.\nExplained: jni_entry 21, class_unloaded 6.\n"),
            "{page}"
        );
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| 17") || line.starts_with("| 8")).collect();
        let of_8 = "| 8 | 1 | 1,000 | 1,234,567 | 60 | 50 | 9 | 20 |";
        assert_eq!(all_refuted(&runs), 60);
        assert_eq!(rows, [of_8, "| 17 | 2 | 2,000 | 2,469,134 | 120 | 100 | 18 | 40 |"]);
        assert!(
            lines(&runs[..1])
                .starts_with("17  int    mix       1234567 edges in 1000 stacks, 60 distinct: 50 proven")
        );
    }
}
