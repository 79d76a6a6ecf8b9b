//! Proof held to true stacks: what was checked, what it rests on, and what was refuted, which is a
//! false alarm each time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use vouch_report::grouped;

use crate::report::{Of, kinds, table};

/// How many refutations of a run are told.
const TOLD: usize = 11;

/// A line for each run, with what it refuted; at the end the sums.
pub fn lines(reports: &[Of]) -> String {
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
        for told in of.report.run.refutations.iter().take(TOLD) {
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

/// The sums, and a table by JDK.
pub fn page(reports: &[Of]) -> String {
    let sum = |figure: fn(&Of) -> u64| reports.iter().map(figure).sum::<u64>();
    let mut explained = BTreeMap::new();
    for (how, count) in reports.iter().flat_map(|of| &of.report.run.edges.explained) {
        *explained.entry(how.clone()).or_default() += count;
    }
    let mut majors: Vec<u32> = reports.iter().map(|of| of.major).collect();
    majors.sort_unstable();
    majors.dedup();
    let rows = majors.into_iter().map(|major| {
        let of_jdk: Vec<&Of> = reports.iter().filter(|of| of.major == major).collect();
        let sum = |figure: fn(&Of) -> u64| grouped(of_jdk.iter().map(|of| figure(of)).sum());
        let figures =
            [stacks, checked, distinct, |of: &Of| of.report.run.edges.proven, Of::explained, refuted];
        [major.to_string(), of_jdk.len().to_string()].into_iter().chain(figures.map(sum)).collect()
    });
    format!(
        "{} edges of {} true stacks were checked, {} of them distinct in their run; {} stacks were refuted.\nExplained: {}.\n\n{}",
        grouped(sum(checked)),
        grouped(sum(stacks)),
        grouped(sum(distinct)),
        all_refuted(reports),
        kinds(&explained),
        table(&["JDK", "runs", "stacks", "edges", "distinct", "proven", "explained", "refuted stacks"], rows)
    )
}

/// Stacks that were refuted, each a false alarm.
pub fn all_refuted(reports: &[Of]) -> u64 {
    reports.iter().map(refuted).sum()
}

fn stacks(of: &Of) -> u64 {
    of.report.samples.signals
}

fn checked(of: &Of) -> u64 {
    of.report.run.edges.checked
}

fn distinct(of: &Of) -> u64 {
    of.report.run.edges.distinct
}

fn refuted(of: &Of) -> u64 {
    of.report.samples.fates.refuted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn runs_are_added_up_by_jdk() {
        let runs = [report(17, "int", "mix"), report(8, "mixed", "mix"), report(17, "mixed", "script")];
        let page = page(&runs);
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
