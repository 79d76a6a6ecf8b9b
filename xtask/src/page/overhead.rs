//! Makes the table of docs/cost.md on overhead: how much longer a program's rounds take under a
//! profiler that starts and stops in a warm JVM.
//!
//! It must never compare two JVMs, or show a median without its spread.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write as _};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use regex_lite::Regex;

use super::document::Output;
use super::interface::Page;
use super::runner::{Jdk, Runner, processors, shown, wrote_a_file};
use super::spread::middle;
use crate::report::table;

/// How much longer a program's rounds take under Vouch, async-profiler and JFR
///
/// Each profiler starts and stops in turns in a JVM that is warm. The programs check their results.
#[derive(Args, Debug)]
pub struct Overhead {
    /// How long each turn takes
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    #[arg(long, default_value_t = 10)]
    turns: u32,
    #[arg(long, default_value_t = 25)]
    jdk: u32,
    /// Programs of java-tests/workloads
    #[arg(long, value_delimiter = ' ', default_value = "server javac database mix")]
    programs: Vec<String>,
    #[arg(long, value_delimiter = ' ', default_value = "vouch async-profiler jfr")]
    profilers: Vec<Profiler>,
    /// Only the ways with a name that matches this regular expression
    #[arg(long, default_value = ".")]
    ways: Regex,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profiler {
    Vouch,
    #[value(name = "async-profiler")]
    Async,
    Jfr,
}

/// One setting of a profiler, and the JVM's diagnostic commands that start and stop it.
struct Way {
    name: String,
    /// The seconds between the profiler's start and the measurement.
    settle: &'static str,
    start: String,
    stop: String,
}

impl Page for Overhead {
    const NAME: &'static str = "overhead";
    const DOCUMENT: &'static str = "docs/cost.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let jdk = runner.jdk(self.jdk)?;
        let library =
            if self.profilers.contains(&Profiler::Async) { runner.fetch_peer()? } else { String::new() };
        let mut rows = Vec::new();
        for program in &self.programs {
            // Only one profiler can have SIGPROF in a JVM, so each profiler has its own JVM.
            for profiler in &self.profilers {
                let mut ways = self.ways(&runner, &library, *profiler);
                ways.retain(|way| self.ways.is_match(&way.name));
                if !ways.is_empty() {
                    self.run((&runner, &jdk), program, *profiler, &ways, &mut rows)?;
                }
            }
        }
        if rows.is_empty() {
            bail!("no way has a name like {}", self.ways);
        }
        let text = format!(
            "{} turns of {} s of each on JDK {}, on a machine of {} processors: the middle one, and the middle half.",
            self.turns,
            self.seconds,
            self.jdk,
            processors()
        );
        let head = ["program", "with", "CPU time of a round, more than without, %", "time of a round, %"];
        self.output.put(Self::DOCUMENT, "overhead", &text, &table(&head, rows))
    }
}

impl Overhead {
    fn ways(&self, runner: &Runner, library: &str, profiler: Profiler) -> Vec<Way> {
        let runs = runner.runs.display();
        let agent = |name: String, library: &str, start: &str, stop: &str, settle: &'static str| Way {
            name,
            settle,
            start: format!("jvmtiAgentLoad {library} \"start,{start}\""),
            stop: format!("jvmtiAgentLoad {library} \"{stop}\""),
        };
        let vouch = |name: &str, options: &str, settle: &'static str| {
            let start = format!("{options},quiet,out={runs}/last.json.gz");
            agent(format!("Vouch, {name}"), &runner.agent_library(), &start, "stop", settle)
        };
        let peer = |options: &str| {
            let file = format!("file={runs}/last.jfr");
            let name = format!("async-profiler, `{options}`");
            agent(name, library, &format!("{options},{file}"), &format!("stop,{file}"), "0.5")
        };
        let jfr = |name: &str, settings: &str| Way {
            name: format!("JFR, {name}"),
            settle: "0.5",
            start: format!("jfrStart name=turn filename={runs}/last.jfr {settings}"),
            stop: "jfrStop name=turn".to_owned(),
        };
        match profiler {
            Profiler::Vouch => vec![
                // Its default interval is chosen after ten seconds of CPU time.
                vouch("without options", "events=default", "20"),
                vouch("without options but `engine=perf`", "engine=perf", "20"),
                vouch("`interval=1ms`", "interval=1ms", "0.5"),
                vouch("`interval=1ms,events=off`", "interval=1ms,events=off", "0.5"),
                vouch("`interval=10ms`", "interval=10ms", "0.5"),
                vouch("`interval=1ms,engine=timer`", "interval=1ms,engine=timer", "0.5"),
            ],
            Profiler::Async => {
                ["event=cpu,interval=1ms", "event=cpu,interval=10ms", "event=ctimer,interval=1ms"]
                    .map(peer)
                    .into()
            }
            Profiler::Jfr => {
                let mut ways =
                    vec![jfr("`default`", "settings=default"), jfr("`profile`", "settings=profile")];
                let cpu_time = "settings=default jdk.ExecutionSample#enabled=false \
                                jdk.CPUTimeSample#enabled=true jdk.CPUTimeSample#throttle=10ms";
                if self.jdk >= 25 {
                    ways.push(jfr("CPU-time samples, `10ms`", cpu_time));
                }
                ways
            }
        }
    }

    /// Runs a program with all ways of a profiler in turns, and adds a row for each.
    fn run(
        &self,
        (runner, jdk): (&Runner, &Jdk),
        program: &str,
        profiler: Profiler,
        ways: &[Way],
        rows: &mut Vec<Vec<String>>,
    ) -> Result<()> {
        let profiler = profiler.to_possible_value().map(|value| value.get_name().to_owned());
        let name = format!("{program}-{}", profiler.unwrap_or_default());
        let [ways_file, turns_file] =
            ["ways", "turns"].map(|ending| runner.runs.join(format!("{name}.{ending}")));
        let mut text = String::new();
        for Way { name, settle, start, stop } in ways {
            let _ = writeln!(text, "{name}\t{settle}\t{start}\t{stop}");
        }
        fs::write(&ways_file, text).with_context(|| shown(&ways_file))?;
        for last in ["last.jfr", "last.json.gz"] {
            let _ = fs::remove_file(runner.runs.join(last));
        }
        println!("{name}");
        let driver = format!(
            "-javaagent:{}={},{},{},{}",
            runner.variable("workload_turns")?,
            self.seconds,
            self.turns,
            turns_file.display(),
            ways_file.display()
        );
        let mut options = vec![driver];
        if self.jdk >= 21 {
            options.insert(0, "-XX:+EnableDynamicAgentLoading".to_owned());
        }
        let [log, errors] = ["log", "errors"].map(|ending| runner.logs.join(format!("{name}.{ending}")));
        // The driver writes its progress on stderr, and profilers write there at each start.
        let mut command = runner.workload_command(program, 1, jdk, &options);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command.stdout(File::create(&log).with_context(|| shown(&log))?);
        let mut jvm = command.spawn().context("bash")?;
        let mut copy = File::create(&errors).with_context(|| shown(&errors))?;
        for line in jvm.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()) {
            let line = line?;
            if line.starts_with("turn ") {
                println!("{line}");
            }
            writeln!(copy, "{line}").with_context(|| shown(&errors))?;
        }
        // The exit code is ignored, because only the measured values count.
        jvm.wait()?;
        let measured = fs::read_to_string(&turns_file).unwrap_or_default();
        if measured.is_empty() {
            bail!("{name} failed: see {} and {}", shown(&log), shown(&errors));
        }
        if !wrote_a_file(&runner.runs, "last.") {
            bail!("{name} wrote no profile: it has profiled nothing");
        }
        for way in ways {
            let mut row = vec![program.to_owned(), way.name.clone()];
            for column in [1, 2] {
                row.push(middle(&percent_more(&measured, &way.name, column), |value| {
                    format!("{value:+.1}")
                })?);
            }
            rows.push(row);
        }
        Ok(())
    }
}

/// Returns by how many percent each turn of this way took longer. A column of the driver's file has
/// the ratios.
fn percent_more(measured: &str, way: &str, column: usize) -> Vec<f64> {
    let ratio = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.first() == Some(&way) { cells.get(column)?.parse::<f64>().ok() } else { None }
    };
    measured.lines().filter_map(ratio).map(|ratio| (ratio - 1.0) * 100.0).collect()
}

#[cfg(test)]
mod tests {
    use super::percent_more;

    #[test]
    fn ratios_of_one_way_become_percentages() {
        let measured = "a\t1.5\t0.5\nb\t9\t9\na\t1\t2\n";
        assert_eq!(percent_more(measured, "a", 1), [50.0, 0.0]);
        assert_eq!(percent_more(measured, "a", 2), [-50.0, 100.0]);
    }
}
