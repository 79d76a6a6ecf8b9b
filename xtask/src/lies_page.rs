//! How often the JVM contradicts a walker in ordinary sampling, and in what, as docs/witness.md has it.

use std::collections::BTreeMap;

use vouch_report::{WitnessReport, float, grouped};

use crate::report::{Of, kinds, table};

/// What is added up over the runs of a program on a JDK.
#[derive(Debug, Default)]
struct Sum {
    asked: u64,
    /// By what proof had made of them.
    contradicted: BTreeMap<String, u64>,
    /// Of whole stacks.
    differences: BTreeMap<String, u64>,
}

/// The table: by program and JDK.
pub fn page(reports: &[Of]) -> String {
    let mut sums: BTreeMap<(String, u32), Sum> = BTreeMap::new();
    for of in reports {
        sums.entry((of.program.clone(), of.major)).or_default().add(&of.report.run.witness);
    }
    let head = [
        "program",
        "JDK",
        "whole stacks",
        "contradicted",
        "of a million",
        "refuted",
        "plausible",
        "proven",
        "how",
    ];
    table(
        &head,
        sums.into_iter().map(|((program, major), sum)| {
            let by = |fate| sum.contradicted.get(fate).copied().unwrap_or_default();
            let wrong = sum.contradicted.values().sum();
            let rate = match sum.asked {
                0 => "-".to_owned(),
                asked => format!("{:.0}", float(wrong) / float(asked) * 1e6),
            };
            vec![
                program,
                major.to_string(),
                grouped(sum.asked),
                grouped(wrong),
                rate,
                grouped(by("refuted")),
                grouped(by("plausible")),
                grouped(by("proven")),
                kinds(&sum.differences),
            ]
        }),
    )
}

impl Sum {
    fn add(&mut self, witness: &WitnessReport) {
        self.asked += witness.exact.asked + witness.all_but_top.asked;
        for (fate, count) in &witness.contradicted {
            *self.contradicted.entry(fate.clone()).or_default() += count;
        }
        for (kind, count) in &witness.differences {
            if !kind.starts_with("root_") {
                *self.differences.entry(kind.clone()).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::GradeReport;

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
