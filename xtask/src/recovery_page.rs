//! How many stacks of Java code are bad, as docs/recovery.md has it: by each walker, with recovery
//! and without, and by another profiler on the same program; and what each strategy brought.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use vouch_report::{RecoveryReport, TrustReport, float, grouped};

use crate::peer::Stacks;
use crate::report::{Of, percent, share, table};

/// Shares of bad stacks, a run each.
type Runs = Vec<f64>;

/// The runs of a program on a JDK, by what profiled it.
type Kinds = BTreeMap<String, Runs>;

/// The columns: the runs' mode, and what it is called.
const KINDS: [(&str, &str); 5] = [
    ("off", "AsyncGetCallTrace"),
    ("on", "with recovery"),
    ("own", "own walker"),
    ("auto", "both"),
    ("peer", "async-profiler"),
];

/// The page of these files: `MAJOR-MODE.RUN-PROGRAM.json` are our reports, `….collapsed` the other profiler's stacks.
pub fn page(files: &[PathBuf]) -> Result<String, String> {
    let mut programs: BTreeMap<(String, u32), Kinds> = BTreeMap::new();
    let mut strategies: BTreeMap<String, RecoveryReport> = BTreeMap::new();
    for file in files {
        let (named, bad) = if file.extension().is_some_and(|ending| ending == "collapsed") {
            let folded = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let Stacks { java, bad } = Stacks::of(&folded);
            (Of::named(file, TrustReport::default())?, float(bad) / float(java))
        } else {
            let of = Of::read(file)?;
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

/// The share of bad stacks in the time of a report's samples of Java code.
fn bad(report: &TrustReport) -> f64 {
    let fates = report.weights();
    let bad = fates.refuted + fates.unwalked;
    bad / (bad + fates.proven + fates.plausible)
}

/// `0.25 % (0.2 to 0.31)`: the middle one, and the least and the most.
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
    fn the_middle_run_stands_for_all_and_the_others_are_told() {
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
