//! Makes the table of docs/cost.md on endurance: the growth of a process's memory in a long run,
//! and the cost of the recording on disk.
//!
//! It must never count a run that failed, had no storm or churn, or wrote no profile.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use vouch_report::float;

use super::document::Output;
use super::interface::Page;
use super::runner::{Jdk, Outcome, Runner, processors, shown, weather_came};
use crate::report::{RunReport, table};

/// How memory grows in a long run, without Vouch and with it, and what the recording file takes
///
/// Meanwhile classes are redefined, threads come and go, virtual threads park, and objects become
/// garbage.
#[derive(Args, Debug)]
pub struct Endurance {
    /// How long each run takes: at least 45, for ten readings in a quarter of the time
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(45..))]
    seconds: u64,
    #[arg(long, default_value_t = 25)]
    jdk: u32,
    /// Programs of java-tests/workloads
    #[arg(long, value_delimiter = ' ', default_value = "javac server")]
    programs: Vec<String>,
    #[arg(long, value_delimiter = ' ', default_value = "serial parallel g1 z shenandoah")]
    collectors: Vec<String>,
    #[command(flatten)]
    output: Output,
}

/// The MiB that a process had after a quarter of its time, and at its end.
struct Memory {
    from: i64,
    to: i64,
}

impl Memory {
    fn growth(&self) -> i64 {
        self.to - self.from
    }
}

impl Page for Endurance {
    const NAME: &'static str = "endurance";
    const DOCUMENT: &'static str = "docs/cost.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let jdk = runner.jdk(self.jdk)?;
        let mut rows = Vec::new();
        for program in &self.programs {
            for collector in &self.collectors {
                let flags = runner.variable(&format!("collector_flags[{collector}]"))?;
                let without = self.run(&runner, &jdk, program, collector, &flags, None)?;
                println!(
                    "{program} with {collector}, without the agent: {} to {} MiB",
                    without.from, without.to
                );
                let profile = runner.runs.join("profile.json.gz");
                let report = runner.runs.join(format!("{}-{collector}-{program}.json", jdk.major));
                let agent = runner.agent(&format!(
                    "interval=1ms,quiet,out={},report={}",
                    profile.display(),
                    report.display()
                ));
                let _ = fs::remove_file(&profile);
                let with = self.run(&runner, &jdk, program, collector, &flags, Some(&agent))?;
                println!("{program} with {collector}, with it: {} to {} MiB", with.from, with.to);
                let is_written = |file: &Path| fs::metadata(file).is_ok_and(|file| file.len() > 0);
                if !is_written(&profile) || !is_written(&report) || runner.runs.join("profile.vouch").exists()
                {
                    bail!("{program} with {collector} left no profile, or its recording file");
                }
                let growth = [without, with].map(|memory| format!("{:+}", memory.growth()));
                let row = [program.clone(), collector.clone()].into_iter().chain(growth);
                rows.push(row.chain(recorded(&RunReport::read(&report)?)?).collect());
            }
        }
        let head = [
            "program",
            "collector",
            "memory grew without, MiB",
            "with, MiB",
            "all that was recorded, MiB",
            "CPU time, s",
            "the file, KiB for a minute of CPU time",
            "the file, % of the CPU time",
        ];
        let text = format!(
            "{} s of each (the last round ends later), JDK {}, {} processors; the first quarter of the time is left out.",
            self.seconds,
            self.jdk,
            processors()
        );
        self.output.put(Self::DOCUMENT, "endurance", &text, &table(&head, rows))
    }
}

impl Endurance {
    fn run(
        &self,
        runner: &Runner,
        jdk: &Jdk,
        program: &str,
        collector: &str,
        flags: &str,
        agent: Option<&str>,
    ) -> Result<Memory> {
        let tag = format!("-Dendurance={}.{program}-{collector}", std::process::id());
        let weather = ["storm", "churn"];
        let mut options = vec![tag.clone()];
        // The whole heap exists from the start, so memory that grows is outside of it.
        options.extend(["-Xms1g", "-XX:+AlwaysPreTouch"].map(str::to_owned));
        options.extend(flags.split_whitespace().map(str::to_owned));
        for agent in weather {
            options.push(format!("-javaagent:{}", runner.variable(&format!("workload_{agent}"))?));
        }
        options.extend(agent.map(str::to_owned));
        let name = format!("{program}-{collector}-{}", if agent.is_some() { "with" } else { "without" });
        let log = runner.logs.join(format!("{name}.log"));
        let has_ended = AtomicBool::new(false);
        let (outcome, readings) = thread::scope(|scope| {
            let watcher = scope.spawn(|| memory_each_second(&tag, &has_ended));
            let outcome = runner.workload(program, self.seconds, jdk, &options, &log);
            has_ended.store(true, Ordering::Relaxed);
            (outcome, watcher.join().unwrap_or_default())
        });
        let outcome = outcome?;
        if outcome != Outcome::Done || !weather.iter().all(|agent| weather_came(&log, agent)) {
            bail!("{name} ended with {outcome:?}, or without its weather: see {}", shown(&log));
        }
        if readings.len() < 40 {
            bail!("{name}: its memory was read {} times; 40 are needed", readings.len());
        }
        Ok(Memory { from: around_the_end(&readings[..readings.len() / 4]), to: around_the_end(&readings) })
    }
}

/// Returns the resident memory of the JVM with this option, in MiB, each second until it ends.
fn memory_each_second(option: &str, has_ended: &AtomicBool) -> Vec<i64> {
    let (mut jvm, mut readings) = (None, Vec::new());
    while !has_ended.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_secs(1));
        jvm = jvm.or_else(|| jvm_with(option));
        readings.extend(jvm.and_then(resident_mib));
    }
    readings
}

/// Returns the process id of the JVM with this option.
fn jvm_with(option: &str) -> Option<u32> {
    let processes =
        fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.into_iter().find(|pid: &u32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split('\0');
        words.next().is_some_and(|program| program.ends_with("/java")) && words.any(|word| word == option)
    })
}

fn resident_mib(pid: u32) -> Option<i64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("Rss:"))?.split_whitespace().next()?;
    Some(kib.parse::<i64>().ok()? / 1024)
}

/// Returns the median of the last ten readings.
fn around_the_end(readings: &[i64]) -> i64 {
    let mut last = readings[readings.len().saturating_sub(10)..].to_vec();
    last.sort_unstable();
    last.get(4).copied().unwrap_or_default()
}

/// Returns the MiB that were recorded, and the seconds of CPU time. For the file it returns the KiB
/// for a minute of CPU time, and the share of that time.
fn recorded(run: &RunReport) -> Result<[String; 4]> {
    let report = &run.report;
    let written = report.run.recording_file.as_ref().context("there was no recording on disk")?;
    let cpu_ms = report.run.cpu_ms.context("the report has no CPU time of the process")?;
    if cpu_ms <= 0.0 {
        bail!("the process took no time");
    }
    let recorded = float(report.bytes_recorded) / f64::from(1 << 20);
    let kib = float(written.bytes) / 1024.0 / (cpu_ms / 60_000.0);
    let share = written.cpu_ms / cpu_ms * 100.0;
    Ok([
        format!("{recorded:.0}"),
        format!("{:.0}", cpu_ms / 1000.0),
        format!("{kib:.0}"),
        format!("{share:.2}"),
    ])
}

#[cfg(test)]
mod tests {
    use super::around_the_end;

    #[test]
    fn one_high_reading_is_not_the_memory_at_the_end() {
        let readings = [900, 900, 1, 2, 3, 4, 5, 6, 7, 8, 9, 900];
        assert_eq!(around_the_end(&readings), 5);
        assert_eq!(around_the_end(&readings[..1]), 0);
    }
}
