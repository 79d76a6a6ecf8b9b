//! Makes the last table of docs/witness-results.md: how often GetStackTrace contradicts
//! AsyncGetCallTrace in ordinary sampling.

use std::collections::BTreeMap;

use vouch_report::{float, grouped};

use super::sum::Sum;
use crate::report::{RunReport, kinds, table};

/// The fates that proof gave to the compared stacks.
const FATES: [&str; 3] = ["refuted", "plausible", "proven"];

/// Returns the table, by program and JDK.
pub fn page(reports: &[RunReport]) -> String {
    let mut sums: BTreeMap<(String, u32), Sum> = BTreeMap::new();
    for of in reports {
        sums.entry((of.program.clone(), of.major)).or_default().add(&of.report.run.witness);
    }
    let head = ["program", "JDK", "whole stacks", "contradicted", "of a million"];
    let head = [&head[..], &FATES, &["how"]].concat();
    table(
        &head,
        sums.into_iter().map(|((program, major), sum)| {
            let by = FATES.map(|fate| sum.contradicted(fate));
            let wrong = by.iter().sum();
            let rate = match sum.whole {
                0 => "-".to_owned(),
                whole => format!("{:.0}", float(wrong) / float(whole) * 1e6),
            };
            let first = vec![program, major.to_string(), grouped(sum.whole), grouped(wrong), rate];
            [first, by.map(grouped).to_vec(), vec![kinds(&sum.differences)]].concat()
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::{GradeReport, WitnessReport};

    #[test]
    fn what_differs_is_added_up_without_the_roots() {
        let of = |asked| {
            let mut of = report(25, "g1", "mix");
            of.report.run.witness = WitnessReport {
                all_but_top: GradeReport { asked, ..GradeReport::default() },
                contradicted: [("refuted".to_owned(), 3), ("plausible".to_owned(), 1)].into(),
                differences: [("gap".to_owned(), 1), ("truncated".to_owned(), 3), ("root_gap".to_owned(), 9)]
                    .into(),
                ..WitnessReport::default()
            };
            of
        };
        let page = page(&[of(1_000), of(3_000)]);
        assert_eq!(
            page.lines().last(),
            Some("| mix | 25 | 4,000 | 8 | 2000 | 6 | 2 | 0 | truncated 6, gap 2 |")
        );
    }
}
