//! The first tables of docs/witness-results.md: how many stacks of real programs GetStackTrace was
//! asked about, how many it contradicted, and how often one of these had been proven.

use std::collections::BTreeMap;

use vouch_report::{WitnessPower, WitnessReport, float, grouped, wilson};

use crate::report::{Of, share, table};

/// What is added up over runs.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    asked: u64,
    pub whole: u64,
    frames: u64,
    /// By what proof had made of them: confirmed and contradicted.
    fates: BTreeMap<String, (u64, u64)>,
    power: BTreeMap<String, WitnessPower>,
    /// In what the whole ones differed.
    pub differences: BTreeMap<String, u64>,
}

/// The tables: by program and JDK, by the JVM's mode, and the power of both.
pub fn page(reports: &[Of]) -> String {
    let by = |key: fn(&Of) -> Vec<String>| {
        let mut sums: BTreeMap<Vec<String>, Sum> = BTreeMap::new();
        for of in reports {
            sums.entry(key(of)).or_default().add(&of.report.run.witness);
        }
        sums
    };
    let programs = by(|of| vec![of.program.clone(), format!("{:>2}", of.major)]);
    let modes = by(|of| vec![of.kind().to_owned()]);
    let all = by(|_| vec!["all".to_owned()]).remove(&vec!["all".to_owned()]).unwrap_or_default();
    let head = [
        "asked",
        "whole stacks",
        "share",
        "frames compared",
        "refuted by proof, too",
        "plausible, contradicted",
        "proven, contradicted",
        "of the proven",
        "95 % interval",
    ];
    let rows = |sums: BTreeMap<Vec<String>, Sum>| {
        sums.into_iter().map(|(key, sum)| {
            let key = key.into_iter().map(|cell| cell.trim().to_owned());
            key.chain(sum.row()).collect::<Vec<String>>()
        })
    };
    let by_program = table(&[&["program", "JDK"][..], &head].concat(), rows(programs));
    let total = std::iter::once([vec!["all".to_owned()], all.row()].concat());
    let by_mode = table(&[&["mode"][..], &head].concat(), rows(modes).chain(total));
    let power = table(
        &["corruption", "tried", "noticed by proof", "by the witness", "by either"],
        all.power.iter().map(|(name, power)| {
            let of = |noticed| share(noticed, power.tried);
            let WitnessPower { tried, by_proof, by_witness, by_either } = *power;
            vec![name.replace('_', " "), grouped(tried), of(by_proof), of(by_witness), of(by_either)]
        }),
    );
    format!("{by_program}\n{by_mode}\n{power}")
}

impl Sum {
    pub fn add(&mut self, witness: &WitnessReport) {
        let WitnessReport { exact, all_but_top, confirmed, contradicted, power, differences, .. } = witness;
        self.asked += witness.asked;
        self.whole += exact.asked + all_but_top.asked;
        self.frames += exact.frames + all_but_top.frames;
        for (fate, count) in confirmed {
            self.fates.entry(fate.clone()).or_default().0 += count;
        }
        for (fate, count) in contradicted {
            self.fates.entry(fate.clone()).or_default().1 += count;
        }
        for (corruption, WitnessPower { tried, by_proof, by_witness, by_either }) in power {
            let sum = self.power.entry(corruption.clone()).or_default();
            sum.tried += tried;
            sum.by_proof += by_proof;
            sum.by_witness += by_witness;
            sum.by_either += by_either;
        }
        for (kind, count) in differences.iter().filter(|(kind, _)| !kind.starts_with("root_")) {
            *self.differences.entry(kind.clone()).or_default() += count;
        }
    }

    /// How many the JVM contradicts of those of which proof has made this.
    pub fn contradicted(&self, fate: &str) -> u64 {
        self.fates.get(fate).map_or(0, |(_, contradicted)| *contradicted)
    }

    fn row(&self) -> Vec<String> {
        let (confirmed, wrong) = self.fates.get("proven").copied().unwrap_or_default();
        let (least, most) = interval(wrong, confirmed + wrong);
        vec![
            grouped(self.asked),
            grouped(self.whole),
            share(self.whole, self.asked),
            grouped(self.frames),
            grouped(self.contradicted("refuted")),
            grouped(self.contradicted("plausible")),
            grouped(wrong),
            rate(float(wrong), float(confirmed + wrong)),
            format!("{} to {}", rate(least, 1.0), rate(most, 1.0)),
        ]
    }
}

/// In millionths: these shares are small.
fn rate(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} ppm", part / whole * 1e6) } else { "-".to_owned() }
}

/// The interval of a share of so many.
fn interval(part: u64, whole: u64) -> (f64, f64) {
    wilson(float(part) / float(whole.max(1)), float(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::GradeReport;

    fn witnessed(major: u32, mode: &str, program: &str, wrong: u64) -> Of {
        let mut of = report(major, mode, program);
        let grade = |asked, frames| GradeReport { asked, agreed: asked, frames, frames_left_out: 0 };
        of.report.run.witness = WitnessReport {
            asked: 1_000,
            exact: grade(100, 1_000),
            all_but_top: grade(800, 9_000),
            confirmed: [("proven".to_owned(), 800), ("plausible".to_owned(), 90)].into(),
            contradicted: [("proven".to_owned(), wrong), ("refuted".to_owned(), 7)].into(),
            power: [(
                "swapped_frames".to_owned(),
                WitnessPower { tried: 10, by_proof: 5, by_witness: 6, by_either: 8 },
            )]
            .into(),
            ..WitnessReport::default()
        };
        of
    }

    #[test]
    fn runs_are_added_up_by_program_by_mode_and_in_all() {
        let page = page(&[
            witnessed(25, "z.1", "mix", 1),
            witnessed(25, "g1", "mix", 0),
            witnessed(8, "g1", "mix", 2),
        ]);
        let rows: Vec<&str> = page.lines().filter(|line| !line.starts_with("|-")).collect();
        assert_eq!(
            rows[1],
            "| mix | 8 | 1,000 | 900 | 90 % | 10,000 | 7 | 0 | 2 | 2494 ppm | 684 ppm to 9047 ppm |"
        );
        assert!(
            rows[2].starts_with("| mix | 25 | 2,000 | 1,800 | 90 % | 20,000 | 14 | 0 | 1 | 625 ppm |"),
            "{page}"
        );
        assert!(
            page.contains("| g1 | 2,000 |")
                && page.contains("| z | 1,000 |")
                && page.contains("| all | 3,000 |"),
            "{page}"
        );
        assert!(page.ends_with("| swapped frames | 30 | 50 % | 60 % | 80 % |\n"), "{page}");
    }

    #[test]
    fn an_interval_is_no_point_where_nothing_was_found() {
        let (least, most) = interval(0, 1_000_000);
        assert!(least == 0.0 && most > 3e-6 && most < 5e-6, "{most}");
        assert_eq!(interval(0, 0), (0.0, 1.0));
    }
}
