//! Counts the walks of the soak, a long series of runs, and makes the page that adds up all runs.
//!
//! It must never count a walk that is in no report, or leave out a run that failed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use vouch_report::{TrustReport, grouped};

use crate::report::{RunReport, table};

/// The row of a run that has not failed ends with this many numbers.
const NUMBERS: usize = 6;

/// Returns the end of a run's row: the walks of each walker, the samples for which all walks
/// faulted, all samples, and the refuted samples.
pub fn row(files: &[PathBuf]) -> Result<String> {
    let [file] = files else { bail!("name one report") };
    let RunReport { report, .. } = RunReport::read(file)?;
    let Walks { own, asgct, recovered } = Walks::from_report(&report);
    let fates = &report.samples.fates;
    let crashed = report.run.unwalked.get("crashed").copied().unwrap_or(0);
    Ok(format!("{own}\t{asgct}\t{recovered}\t{crashed}\t{}\t{}\n", report.samples.signals, fates.refuted))
}

/// The walks of a run in which each sample was walked by both walkers.
struct Walks {
    own: u64,
    asgct: u64,
    recovered: u64,
}

impl Walks {
    fn from_report(report: &TrustReport) -> Self {
        // The report counts every sample that both walkers walked, whatever the outcome.
        let both = report.run.agreement.values().map(|agreement| agreement.samples).sum();
        let recovered = report.run.recovery.values().map(|strategy| strategy.tried).sum();
        Self { own: both, asgct: both, recovered }
    }
}

/// One row of the file that keeps the soak's state.
struct Run<'s> {
    jdk: &'s str,
    collector: &'s str,
    engine: &'s str,
    failed: bool,
    /// The number of walks by Vouch's own walker, by AsyncGetCallTrace, and from repaired contexts.
    walks: [u64; 3],
    crashed: u64,
    samples: u64,
    refuted: u64,
}

impl<'s> Run<'s> {
    fn parse(line: &'s str) -> Option<Self> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [jdk, collector, engine, _, outcome, rest @ ..] = columns.as_slice() else { return None };
        let failed = *outcome != "ok";
        let figures: Result<Vec<u64>, _> = rest.iter().map(|figure| figure.parse()).collect();
        let figures = if failed { [0; NUMBERS] } else { figures.ok()?.try_into().ok()? };
        let [own, asgct, recovered, crashed, samples, refuted] = figures;
        Some(Self {
            jdk,
            collector,
            engine,
            failed,
            walks: [own, asgct, recovered],
            crashed,
            samples,
            refuted,
        })
    }

    fn all(&self) -> u64 {
        self.walks.iter().sum()
    }
}

/// Returns the number of all walks in a state, for the script.
pub fn sum(files: &[PathBuf]) -> Result<String> {
    let text = state(files)?;
    let runs = runs(&text)?;
    Ok(runs.iter().map(Run::all).sum::<u64>().to_string())
}

/// Returns the tables of the page.
pub fn page(files: &[PathBuf]) -> Result<String> {
    let text = state(files)?;
    let runs = runs(&text)?;
    let mut page = String::new();
    let sum = |at: usize| runs.iter().map(|run| run.walks[at]).sum::<u64>();
    let failed = runs.iter().filter(|run| run.failed).count();
    // Writing to a string does not fail.
    let _ = writeln!(
        page,
        "**{}** walks in {} runs ({failed} failed):\n\n\
         - {} by Vouch's own walker\n- {} by AsyncGetCallTrace\n- {} from repaired contexts\n\
         - {} of {} samples without a stack, because all their walks faulted and the guard ended them\n\
         - {} samples refuted\n",
        grouped(runs.iter().map(Run::all).sum()),
        grouped(runs.len() as u64),
        grouped(sum(0)),
        grouped(sum(1)),
        grouped(sum(2)),
        grouped(runs.iter().map(|run| run.crashed).sum()),
        grouped(runs.iter().map(|run| run.samples).sum()),
        grouped(runs.iter().map(|run| run.refuted).sum()),
    );
    let mut collectors: Vec<&str> = runs.iter().map(|run| run.collector).collect();
    collectors.sort_unstable();
    collectors.dedup();
    let mut cells: BTreeMap<(u32, &str, &str), BTreeMap<&str, u64>> = BTreeMap::new();
    for run in &runs {
        let major = run.jdk.split(' ').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        *cells.entry((major, run.jdk, run.engine)).or_default().entry(run.collector).or_default() +=
            run.all();
    }
    let head: Vec<&str> = ["JDK", "engine"].into_iter().chain(collectors.iter().copied()).collect();
    let rows = cells.iter().map(|((_, jdk, engine), walks)| {
        let cells = collectors.iter().map(|name| walks.get(name).map_or("-".to_owned(), |sum| grouped(*sum)));
        [(*jdk).to_owned(), (*engine).to_owned()].into_iter().chain(cells).collect()
    });
    page.push_str(&table(&head, rows));
    Ok(page)
}

fn state(files: &[PathBuf]) -> Result<String> {
    let [file] = files else { bail!("name the state") };
    std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))
}

fn runs(text: &str) -> Result<Vec<Run<'_>>> {
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            Run::parse(line).with_context(|| format!("line {} of the state is no run: {line}", at + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::{AgreementReport, RecoveryReport};

    fn written(text: &str) -> Vec<PathBuf> {
        let file = std::env::temp_dir().join(format!("vouch-soak-{}-{}", std::process::id(), text.len()));
        std::fs::write(&file, text).unwrap();
        vec![file]
    }

    #[test]
    fn each_sample_that_both_walked_is_two_walks() {
        let mut report = report(25, "g1", "mix").report;
        let samples = |samples| AgreementReport { samples, ..AgreementReport::default() };
        report.run.agreement = [("same".to_owned(), samples(90)), ("neither".to_owned(), samples(10))].into();
        let tried = RecoveryReport { tried: 7, ..RecoveryReport::default() };
        report.run.recovery = [("top".to_owned(), tried)].into();
        let Walks { own, asgct, recovered } = Walks::from_report(&report);
        assert_eq!((own, asgct, recovered), (100, 100, 7));
    }

    #[test]
    fn the_page_has_every_run_also_those_that_failed() {
        let state = "25 (25.0.3)\tg1\tperf\tmix\tok\t1000\t1000\t20\t1\t1100\t2\n\
                     25 (25.0.3)\tg1\tperf\tadverse\tok\t10\t10\t0\t0\t10\t0\n\
                     8 (1.8.0_402)\tcms\ttimer\tmix\tcode 134\n";
        let files = written(state);
        assert_eq!(sum(&files).unwrap(), "2040");
        let page = page(&files).unwrap();
        let line = "**2,040** walks in 3 runs (1 failed):\n\n- 1,010 by Vouch's own walker\n- 1,010 by AsyncGetCallTrace\n- 20 from repaired contexts\n";
        assert!(page.starts_with(line), "{page}");
        let rows = "| JDK | engine | cms | g1 |\n|---|---|---|---|\n| 8 (1.8.0_402) | timer | 0 | - |\n| 25 (25.0.3) | perf | - | 2,040 |\n";
        assert!(page.ends_with(rows), "{page}");
    }

    #[test]
    fn a_row_that_is_none_is_refused() {
        for line in ["", "25\tg1\tperf\tmix\tok\t1000", "25\tg1\tperf\tmix\tok\ta\tb\tc\td\te\tf"] {
            let refused = sum(&written(&format!("{line}\n")));
            assert!(refused.is_err(), "{line}: {refused:?}");
        }
    }
}
