//! Makes the tables of docs/witness-results.md: how many stacks of real programs were compared with
//! GetStackTrace, how many it contradicted, and how many of these had been proven.

mod lies;
mod sum;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use vouch_report::{WitnessPower, float, grouped, wilson};

use super::document::Output;
use super::interface::Page;
use super::runner::{
    Jdk, Outcome, Runner, files_with_ending, last_line, processors, run_logged, shown, weather_came,
};
use crate::report::{RunReport, reports, share, table};
use sum::Sum;

/// How often GetStackTrace contradicts the stacks of real programs
///
/// Each program runs on several JDKs and with several collectors, with as many witnesses as
/// possible. In the mode `storm` a class with a method on some stack is redefined ten times a
/// second. If the JVM contradicts a proven stack, proof or the witness is wrong, and the command
/// fails; `vouch explain` prints both stacks.
#[derive(Args, Debug)]
pub struct Witness {
    /// How long each run takes
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    #[arg(long, value_delimiter = ' ', default_value = "17 21 25 27")]
    jdks: Vec<u32>,
    /// Programs of java-tests/workloads; all by default
    #[arg(long, value_delimiter = ' ')]
    workloads: Vec<String>,
    #[arg(long, value_delimiter = ' ', default_value = "g1 parallel serial z storm")]
    modes: Vec<Mode>,
    /// Run again and again, until GetStackTrace was asked about this many stacks
    #[arg(long, default_value_t = 0)]
    witnesses: u64,
    /// The agent's option `witness`, or `default` for none
    #[arg(long = "witness", default_value = "1000/s")]
    rate: String,
    /// Walk by AsyncGetCallTrace alone: how often is it wrong?
    #[arg(long)]
    asgct: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    G1,
    Parallel,
    Serial,
    Z,
    Storm,
    Shenandoah,
    Int,
    Comp,
    C1,
}

impl Mode {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns the JVM's option. `storm` is the agent that redefines classes.
    fn option(self, storm: &str) -> String {
        match self {
            Self::G1 => "-XX:+UseG1GC",
            Self::Parallel => "-XX:+UseParallelGC",
            Self::Serial => "-XX:+UseSerialGC",
            Self::Z => "-XX:+UseZGC",
            Self::Storm => return format!("-javaagent:{storm}"),
            Self::Shenandoah => "-XX:+UseShenandoahGC",
            Self::Int => "-Xint",
            Self::Comp => "-Xcomp",
            Self::C1 => "-XX:TieredStopAtLevel=1",
        }
        .to_owned()
    }
}

impl Page for Witness {
    const NAME: &'static str = "witness";
    const DOCUMENT: &'static str = "docs/witness-results.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let storm = runner.variable("workload_storm")?;
        let workloads = match self.workloads.as_slice() {
            [] => runner.variable("WORKLOADS[*]")?.split(' ').map(str::to_owned).collect(),
            named => named.to_vec(),
        };
        let jdks = runner.jdks(&self.jdks)?;
        let (mut failed, mut asked) = (0, 0);
        for round in 1.. {
            let before = asked;
            for (jdk, mode) in jdks.iter().flat_map(|jdk| self.modes.iter().map(move |mode| (jdk, *mode))) {
                let option = mode.option(&storm);
                // Some builds lack some collectors.
                let log = runner.logs.join("version.log");
                let mut version = Runner::java(&jdk.home, 60);
                if run_logged(version.arg(&option).arg("-version"), &log)? != Outcome::Done {
                    println!("JDK {} has no mode {}", jdk.major, mode.name());
                    continue;
                }
                for program in &workloads {
                    print!("JDK {}, {}: {program} for {} s: ", jdk.major, mode.name(), self.seconds);
                    let run = format!("{}-{}.{round}-{program}", jdk.major, mode.name());
                    match self.run(&runner, jdk, (mode, &option), program, &run)? {
                        Some(more) => asked += more,
                        None => failed += 1,
                    }
                    println!("; GetStackTrace was asked {asked} times so far");
                }
            }
            if asked >= self.witnesses || asked == before {
                break;
            }
        }
        let reports = reports(&files_with_ending(&runner.runs, ".json")?)?;
        if reports.is_empty() {
            bail!("no run has a report: scripts/jdks fetches JDKs");
        }
        let (part, tables) =
            if self.asgct { ("lies-page", lies::page(&reports)) } else { ("witness-page", page(&reports)) };
        let text = format!(
            "Each program ran for {} s with {}, on a machine with {} processors.",
            self.seconds,
            self.described(),
            processors()
        );
        self.output.put(Self::DOCUMENT, part, &text, &tables)?;
        runner.report_failed(failed)?;
        // AsyncGetCallTrace is known to be wrong.
        if self.asgct { Ok(()) } else { contradicts_no_proven_stack(&reports, &runner) }
    }
}

impl Witness {
    fn rate(&self) -> String {
        let rate = if self.rate == "default" { String::new() } else { format!(",witness={}", self.rate) };
        if self.asgct { rate + ",walker=asgct,recovery=off" } else { rate }
    }

    /// Describes the runs for the page.
    fn described(&self) -> String {
        let rate = match self.rate.as_str() {
            "default" => "the default rate of witnesses".to_owned(),
            rate => format!("`witness={rate}`"),
        };
        if !self.asgct {
            return rate;
        }
        let modes: Vec<String> = self.modes.iter().map(|mode| mode.name()).collect();
        format!("{rate} and `walker=asgct,recovery=off`, modes {}", modes.join(" "))
    }

    /// Runs a program once, and returns the number of compared stacks. It is 0 if this JDK cannot
    /// run the program, and `None` if the run failed.
    fn run(
        &self,
        runner: &Runner,
        jdk: &Jdk,
        (mode, option): (Mode, &str),
        program: &str,
        run: &str,
    ) -> Result<Option<u64>> {
        let log = runner.logs.join(format!("{run}.log"));
        let report = runner.runs.join(format!("{run}.json"));
        let agent = runner.agent(&format!(
            "interval=1ms,quiet{},out={}/profile.folded,report={}",
            self.rate(),
            runner.runs.display(),
            report.display()
        ));
        let outcome = runner.workload(program, self.seconds, jdk, &[option, &agent], &log)?;
        let has_redefined = mode != Mode::Storm || weather_came(&log, "storm");
        if outcome != Outcome::Done || !has_redefined {
            let _ = fs::remove_file(&report);
            print!("{}", if has_redefined { last_line(&log) } else { "nothing was redefined".to_owned() });
            return Ok((outcome == Outcome::CannotRun).then_some(0));
        }
        let explained = runner.vouch().arg("explain").arg(&report).output();
        let explained = explained.context("vouch explain")?;
        if !explained.status.success() {
            bail!("vouch explain {} failed", report.display());
        }
        let text = runner.logs.join(format!("{run}.txt"));
        fs::write(&text, &explained.stdout).with_context(|| shown(&text))?;
        let is_kind = |line: &&str| {
            let mut letters = line.trim_start_matches(' ').chars();
            letters.next() == Some('w') && letters.next().is_some_and(|letter| letter.is_ascii_digit())
        };
        let kinds = String::from_utf8_lossy(&explained.stdout).lines().filter(is_kind).count();
        print!("{kinds} kinds of stacks contradicted");
        Ok(Some(RunReport::read(&report)?.report.run.witness.asked))
    }
}

/// Returns an error if GetStackTrace contradicts a stack that was proven.
fn contradicts_no_proven_stack(reports: &[RunReport], runner: &Runner) -> Result<()> {
    let mut all = Sum::default();
    for run in reports {
        all.add(&run.report.run.witness);
    }
    let [plausible, proven] = ["plausible", "proven"].map(|fate| all.contradicted(fate));
    println!(
        "of {} whole stacks the JVM contradicts {proven} that were proven and {plausible} that were plausible: \
         both stacks are in {}/*.txt",
        all.whole,
        shown(&runner.logs)
    );
    if proven == 0 { Ok(()) } else { Err(anyhow!("GetStackTrace contradicts {proven} proven stacks")) }
}

/// Returns the tables: by program and JDK, by the JVM's mode, and the power of proof and witness.
fn page(reports: &[RunReport]) -> String {
    let by = |key: fn(&RunReport) -> Vec<String>| {
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

/// Formats a share in millionths, because these shares are small.
fn rate(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} ppm", part / whole * 1e6) } else { "-".to_owned() }
}

/// Returns the confidence interval of a share with these counts.
fn interval(part: u64, whole: u64) -> (f64, f64) {
    wilson(float(part) / float(whole.max(1)), float(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::{GradeReport, WitnessReport};

    fn witnessed(major: u32, mode: &str, program: &str, wrong: u64) -> RunReport {
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
