//! Makes the table of docs/cost.md on CPU shares: the part of a program's CPU time that is a
//! profiler's own code, counted by `perf`.
//!
//! It must never show a share without the number of samples, or without a run of the program alone.

mod classify;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use regex_lite::Regex;

use super::document::Output;
use super::interface::Page;
use super::runner::{Jdk, Runner, processors, shown, wrote_a_file};
use crate::report::table;
use classify::{Counter, Counts};

/// Which part of a program's CPU time is a profiler's own code
///
/// `perf` samples the machine each millisecond while the program runs with each profiler in turns.
/// This needs root, or kernel.perf_event_paranoid below 0. The programs check their results.
#[derive(Args, Debug)]
pub struct CpuShare {
    /// How long each run takes
    #[arg(long, default_value_t = 25)]
    seconds: u64,
    #[arg(long, default_value_t = 1)]
    turns: usize,
    #[arg(long, default_value_t = 25)]
    jdk: u32,
    /// Programs of java-tests/workloads
    #[arg(long, value_delimiter = ' ', default_value = "server javac database mix")]
    programs: Vec<String>,
    /// Only the ways with a name that matches this regular expression
    #[arg(long, default_value = ".")]
    ways: Regex,
    #[command(flatten)]
    output: Output,
}

const WITHOUT: &str = "without a profiler";

impl Page for CpuShare {
    const NAME: &'static str = "cpu-share";
    const DOCUMENT: &'static str = "docs/cost.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.need("perf", "linux-perf")?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let jdk = runner.jdk(self.jdk)?;
        let mut ways = ways(&runner, &runner.fetch_peer()?);
        ways.retain(|(name, _)| name == WITHOUT || self.ways.is_match(name));
        if ways.len() < 2 {
            bail!("no way has a name like {}", self.ways);
        }
        let mut rows = Vec::new();
        for program in &self.programs {
            let mut sums: HashMap<&str, Counts> = HashMap::new();
            for turn in 0..self.turns {
                println!("{program}: turn {} of {}", turn + 1, self.turns);
                // Each turn begins with another way.
                for (way, option) in (0..ways.len()).map(|at| &ways[(turn + at) % ways.len()]) {
                    let counts = self.run(&runner, &jdk, program, way, option)?;
                    sums.entry(way).or_default().add(counts);
                }
            }
            for (way, _) in &ways {
                let Counts { all, own, kernel } = sums[way.as_str()].as_floats();
                rows.push(vec![
                    program.clone(),
                    way.clone(),
                    format!("{:.2} ± {:.2}", 100.0 * own / all, 200.0 * own.sqrt() / all),
                    format!("{:.2}", 100.0 * kernel / all),
                    format!("{all:.0}"),
                ]);
            }
        }
        let text = format!(
            "{} s of each, run {} times, on JDK {}, on a machine of {} processors; ± is two standard errors.",
            self.seconds,
            self.turns,
            self.jdk,
            processors()
        );
        let head = [
            "program",
            "with",
            "in the profiler's own code, % of the CPU time",
            "in the kernel for it, %",
            "samples",
        ];
        self.output.put(Self::DOCUMENT, "cpu-share", &text, &table(&head, rows))
    }
}

/// Returns each way to profile: its name, and the JVM's option.
fn ways(runner: &Runner, library: &str) -> Vec<(String, String)> {
    let profile = runner.runs.join("profile");
    let profile = profile.display();
    let vouch = |name: &str, options: &str| {
        (format!("Vouch, {name}"), runner.agent(&format!("{options}quiet,out={profile}.json.gz")))
    };
    let peer = |options: &str| {
        let option = format!("-agentpath:{library}=start,{options},file={profile}.jfr");
        (format!("async-profiler, `{options}`"), option)
    };
    let jfr = |settings: &str| {
        let option = format!("-XX:StartFlightRecording=filename={profile}.jfr,settings={settings}");
        (format!("JFR, `{settings}`"), option)
    };
    vec![
        (WITHOUT.to_owned(), "-Xshare:auto".to_owned()),
        // At ten seconds there are hardly any samples: the cost is that of the events.
        vouch("`interval=10s,events=off`", "interval=10s,events=off,"),
        vouch("`interval=10s`", "interval=10s,"),
        vouch("without options", ""),
        vouch("`interval=10ms`", "interval=10ms,"),
        vouch("`interval=1ms`", "interval=1ms,"),
        peer("event=cpu,interval=10ms"),
        peer("event=cpu,interval=1ms"),
        jfr("default"),
        jfr("profile"),
    ]
}

/// A running `perf record`. It ends with this value, also after an error.
struct Observer(Child);

impl Drop for Observer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl CpuShare {
    fn run(&self, runner: &Runner, jdk: &Jdk, program: &str, way: &str, option: &str) -> Result<Counts> {
        for ending in ["json.gz", "jfr"] {
            let _ = fs::remove_file(runner.runs.join(format!("profile.{ending}")));
        }
        let recorded = runner.runs.join("perf.data");
        let _ = fs::remove_file(&recorded);
        let [log, perf_log] = [program, "perf"].map(|name| runner.logs.join(format!("{name}.log")));
        let mut observer = observe(&recorded, &perf_log)?;
        let outcome = runner.workload(program, self.seconds, jdk, &[option], &log)?;
        if !observer.0.try_wait().is_ok_and(|status| status.is_none()) {
            bail!("perf ended before {program} did: see {}", shown(&perf_log));
        }
        // perf writes its data when it receives the signal.
        let pid = observer.0.id().to_string();
        let ended = Command::new("kill").args(["-TERM", &pid]).status();
        if !ended.is_ok_and(|status| status.success()) {
            bail!("perf cannot be ended");
        }
        let _ = observer.0.wait();
        outcome.check(&format!("{program} with {way}"), &log)?;
        if way != WITHOUT && !wrote_a_file(&runner.runs, "profile.") {
            bail!("{program} with {way} wrote no profile: it has profiled nothing");
        }
        let counts = count(&recorded, &perf_log)?;
        // Each program keeps at least one processor busy all the time.
        if counts.all < self.seconds * 700 {
            bail!("perf saw next to nothing of {program}: see {}", shown(&perf_log));
        }
        Ok(counts)
    }
}

/// Starts `perf` for the whole machine. Limited to one process, perf would count an event at each
/// context switch.
fn observe(recorded: &Path, log: &Path) -> Result<Observer> {
    let output = File::create(log).with_context(|| shown(log))?;
    let errors = output.try_clone().with_context(|| shown(log))?;
    // Without this, perf would record for ever after its parent ended.
    let mut perf = Command::new("setpriv");
    perf.args([
        "--pdeathsig",
        "TERM",
        "perf",
        "record",
        "--quiet",
        "-a",
        "-e",
        "cpu-clock",
        "-c",
        "1000000",
        "-g",
    ]);
    perf.arg("-o").arg(recorded).stdin(Stdio::null()).stdout(output).stderr(errors);
    perf.spawn().map(Observer).context("perf")
}

/// Counts the samples of the JVM's process.
fn count(recorded: &Path, log: &Path) -> Result<Counts> {
    let errors = File::options().append(true).open(log).with_context(|| shown(log))?;
    let mut script = Command::new("perf");
    script.args(["script", "--no-inline", "-i"]).arg(recorded).args(["-F", "comm,pid,ip,sym,dso"]);
    let mut script = script.stdout(Stdio::piped()).stderr(errors).spawn().context("perf")?;
    let mut counter = Counter::new();
    for line in script.stdout.take().into_iter().flat_map(|output| BufReader::new(output).split(b'\n')) {
        counter.line(&String::from_utf8_lossy(&line?));
    }
    // Its exit code says nothing: the counts do.
    script.wait()?;
    Ok(counter.of_the_busiest_process())
}
