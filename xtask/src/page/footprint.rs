//! Makes the table of docs/cost.md on the footprint: what a profiler takes of a process in addition
//! to the program's own work.
//!
//! It must never count a run that failed or wrote no profile, or show a median without its spread.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use super::document::Output;
use super::interface::Page;
use super::runner::{Jdk, Runner, processors, shown, wrote_a_file};
use super::spread::middle;
use crate::report::table;

/// What a profiler takes at a process's start and end, of its memory, and what it writes
///
/// Programs run without a profiler and with each in turns. They go on for the same time by the
/// clock in short rounds, so what they take longer is the profiler's start and end.
#[derive(Args, Debug)]
pub struct Footprint {
    /// How long each run takes
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    #[arg(long, default_value_t = 15)]
    turns: usize,
    #[arg(long, default_value_t = 25)]
    jdk: u32,
    #[arg(long, value_delimiter = ' ', default_value = "nothing deep mix")]
    programs: Vec<Program>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    Nothing,
    Deep,
    Mix,
}

/// The cost of a run: seconds, seconds of CPU time, MiB of memory, and KiB of profile.
#[derive(Debug, Clone, Copy)]
struct Taken {
    seconds: f64,
    cpu_seconds: f64,
    mib: f64,
    profile_kib: f64,
}

/// The name of a way to profile, and the JVM's option. The first way has no option.
type Way = (&'static str, Option<String>);

/// Runs a command, and prints its seconds, seconds in user mode and seconds in the kernel.
const TIMED: &str = "TIMEFORMAT='%3R %3U %3S'; time \"$@\" >\"$0\" 2>&1";

impl Page for Footprint {
    const NAME: &'static str = "footprint";
    const DOCUMENT: &'static str = "docs/cost.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.need("/usr/bin/time", "time")?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let jdk = runner.jdk(self.jdk)?;
        let profile = runner.runs.join("profile");
        let profile = profile.display();
        let library = runner.fetch_peer()?;
        let ways: [Way; 5] = [
            ("without", None),
            ("JFR, `default`", Some(format!("-XX:StartFlightRecording=filename={profile}.jfr"))),
            (
                "Vouch, `interval=1ms`",
                Some(runner.agent(&format!("interval=1ms,quiet,out={profile}.json.gz"))),
            ),
            ("Vouch, without options", Some(runner.agent(&format!("quiet,out={profile}.json.gz")))),
            (
                "async-profiler, `event=cpu,interval=1ms`",
                Some(format!("-agentpath:{library}=start,event=cpu,interval=1ms,file={profile}.jfr")),
            ),
        ];
        let mut rows = Vec::new();
        for program in &self.programs {
            let mut taken: HashMap<&str, Vec<Taken>> = HashMap::new();
            // The first turn only warms the machine. Each turn begins with another way.
            for turn in 0..=self.turns {
                println!("{}: turn {turn} of {}", name(*program), self.turns);
                for (way, option) in (0..ways.len()).map(|at| &ways[(turn + at) % ways.len()]) {
                    let run = self.run(&runner, &jdk, *program, way, option.as_deref())?;
                    if turn > 0 {
                        taken.entry(way).or_default().push(run);
                    }
                }
            }
            for (way, _) in &ways[1..] {
                rows.push(row(*program, way, &taken["without"], &taken[way])?);
            }
        }
        let text = format!(
            "{} turns of {} s of each on JDK {}, on a machine of {} processors: the middle one, and the middle half.",
            self.turns,
            self.seconds,
            self.jdk,
            processors()
        );
        let head =
            ["program", "with", "longer, ms", "CPU time, more, ms", "memory, more, MiB", "profile, KiB"];
        self.output.put(Self::DOCUMENT, "footprint", &text, &table(&head, rows))
    }
}

/// Returns a row with the differences from the run without a profiler in the same turn.
fn row(program: Program, way: &str, without: &[Taken], with: &[Taken]) -> Result<Vec<String>> {
    let differences = |value: fn(&Taken) -> f64| {
        let values: Vec<f64> =
            with.iter().zip(without).map(|(with, without)| value(with) - value(without)).collect();
        middle(&values, |value| format!("{value:+.0}"))
    };
    let profiles: Vec<f64> = with.iter().map(|run| run.profile_kib).collect();
    Ok(vec![
        name(program),
        way.to_owned(),
        differences(|run| run.seconds * 1000.0)?,
        differences(|run| run.cpu_seconds * 1000.0)?,
        differences(|run| run.mib)?,
        middle(&profiles, |value| format!("{value:.0}"))?,
    ])
}

impl Footprint {
    fn run(
        &self,
        runner: &Runner,
        jdk: &Jdk,
        program: Program,
        way: &str,
        option: Option<&str>,
    ) -> Result<Taken> {
        let program = name(program);
        let [memory, scratch] = ["memory", "scratch"].map(|name| runner.runs.join(name));
        remove_profiles(&runner.runs);
        fs::create_dir_all(&scratch).with_context(|| shown(&scratch))?;
        let log = runner.logs.join(format!("{program}.log"));
        let mut command = Command::new("bash");
        command.args(["-c", TIMED]).arg(&log).args(["/usr/bin/time", "-f", "%M", "-o"]).arg(&memory);
        command
            .args(["timeout", "--foreground", &(self.seconds + 120).to_string()])
            .arg(jdk.home.join("bin/java"));
        Runner::clean(&mut command);
        // The whole heap exists from the start, because a growing heap is not a profiler's cost.
        command.args(["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"]).args(option);
        if program == "deep" {
            command.args(["-Ddepth=1000", "-Xss64m"]);
        }
        command.arg("-cp").arg(runner.workload_path(&program)?).arg(capitalised(&program));
        command.arg(self.seconds.to_string()).arg(&scratch).arg("").stdin(Stdio::null());
        let output = command.output().context("bash")?;
        let _ = fs::remove_dir_all(&scratch);
        if !output.status.success() {
            bail!("{program} with {way} ended with {}: see {}", output.status, shown(&log));
        }
        if option.is_some() && !wrote_a_file(&runner.runs, "profile.") {
            bail!("{program} with {way} wrote no profile: see {}", shown(&log));
        }
        let timed = String::from_utf8_lossy(&output.stderr);
        let times: Vec<f64> = timed
            .lines()
            .last()
            .unwrap_or_default()
            .split(' ')
            .filter_map(|time| time.parse().ok())
            .collect();
        let &[seconds, user, kernel] = times.as_slice() else {
            bail!("bash's time printed {timed}");
        };
        let peak = fs::read_to_string(&memory).with_context(|| shown(&memory))?;
        let kib: f64 =
            peak.lines().last().and_then(|kib| kib.parse().ok()).context("time printed no memory")?;
        Ok(Taken {
            seconds,
            cpu_seconds: user + kernel,
            mib: kib / 1024.0,
            profile_kib: profile_kib(&runner.runs),
        })
    }
}

fn name(program: Program) -> String {
    program.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn capitalised(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

/// Returns the profiles that a run wrote.
fn profiles(runs: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("profile.")))
}

fn remove_profiles(runs: &Path) {
    for profile in profiles(runs) {
        let _ = fs::remove_file(profile.path());
    }
}

fn profile_kib(runs: &Path) -> f64 {
    let bytes: u64 = profiles(runs).filter_map(|profile| Some(profile.metadata().ok()?.len())).sum();
    vouch_report::float(bytes) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_compared_with_the_one_without_a_profiler_in_its_turn() {
        let taken = |seconds, profile_kib| Taken { seconds, cpu_seconds: 1.0, mib: 100.0, profile_kib };
        let without = [taken(1.0, 0.0), taken(2.0, 0.0), taken(3.0, 0.0)];
        let with = [taken(1.1, 7.0), taken(2.3, 8.0), taken(3.2, 9.0)];
        let row = row(Program::Mix, "JFR", &without, &with).unwrap();
        let zero = "+0 (+0 to +0)";
        assert_eq!(row, ["mix", "JFR", "+200 (+100 to +300)", zero, zero, "8 (7 to 9)"]);
        assert_eq!(capitalised("deep"), "Deep");
    }
}
