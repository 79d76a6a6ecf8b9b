//! Makes the table of docs/jfr-clock.md: the true error of JFR events' times in merged profiles,
//! compared with the error that the merge states.
//!
//! It must never leave out an event.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use vouch_report::grouped;

use super::document::Output;
use super::interface::Page;
use super::merged::{Marker, markers};
use super::runner::{Jdk, Outcome, Runner, files_with_ending, processors, run_logged, shown};
use crate::report::{json, table};

/// How well the times of JFR events fit a profile's
///
/// A busy program puts System.nanoTime into its own events, on all JDKs at once, with
/// collections and as if it never collected. More busy JVMs than processors make threads wait
/// between two readings of a clock. The command fails if more than one event of a thousand is
/// farther off than stated.
#[derive(Args, Debug)]
pub struct JfrClock {
    /// How long each of the two runs takes
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    #[arg(long, value_delimiter = ' ', default_value = "11 17 21 25 27")]
    jdks: Vec<u32>,
    #[command(flatten)]
    output: Output,
}

impl Page for JfrClock {
    const NAME: &'static str = "jfr-clock";
    const DOCUMENT: &'static str = "docs/jfr-clock.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.clear_runs()?;
        let mut jdks = runner.jdks(&self.jdks)?;
        jdks.retain(|jdk| {
            let classes = classes_of(&runner, jdk);
            let compiled = runner.compile(&jdk.home, &classes, &["java-tests/clock/Clock.java"]);
            compiled.inspect_err(|why| println!("JDK {} is left out: {why:#}", jdk.major)).is_ok()
        });
        if jdks.is_empty() {
            bail!("nothing can be run: scripts/jdks fetches JDKs");
        }
        for events in ["default", "off"] {
            println!("events={events} on {} JDKs: {} s", jdks.len(), self.seconds);
            let jvms: Result<Vec<Jvm>> = jdks.iter().map(|jdk| self.start(&runner, jdk, events)).collect();
            for mut jvm in jvms? {
                if !jvm.0.wait().is_ok_and(|status| status.success()) {
                    bail!("a JVM failed: see {}", shown(&runner.logs));
                }
            }
            for jdk in &jdks {
                merge(&runner, &format!("{}.{events}", jdk.major))?;
            }
        }
        let runs = read(&files_with_ending(&runner.runs, ".merged.json")?)?;
        let text = format!(
            "`java-tests/clock/Clock.java` ran for {} s on {} JDKs at once, on a machine with {} processors.",
            self.seconds,
            jdks.len(),
            processors()
        );
        self.output.put(Self::DOCUMENT, "clock-page", &text, &page(&runs))?;
        let off: Vec<String> = runs
            .iter()
            .filter(|run| run.thousandths_within() < 99_900)
            .map(|run| run.major.to_string())
            .collect();
        if off.is_empty() {
            return Ok(());
        }
        Err(anyhow!("events are farther off than stated on JDK {}", off.join(", ")))
    }
}

/// A JVM that is killed if another one fails.
struct Jvm(Child);

impl Drop for Jvm {
    fn drop(&mut self) {
        // `timeout` passes SIGTERM on to its JVM. After SIGKILL the JVM would go on.
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        }
    }
}

impl JfrClock {
    /// Starts a JVM. Since JDK 16 or so ten minutes are more than one chunk of a recording.
    fn start(&self, runner: &Runner, jdk: &Jdk, events: &str) -> Result<Jvm> {
        let name = format!("{}.{events}", jdk.major);
        let log = runner.logs.join(format!("{name}.log"));
        let output = std::fs::File::create(&log).with_context(|| shown(&log))?;
        let errors = output.try_clone().with_context(|| shown(&log))?;
        // `timeout` ends with this process, and then its JVM, too.
        let mut java = Command::new("setpriv");
        java.args(["--pdeathsig", "TERM", "timeout", &(self.seconds + 240).to_string()]);
        java.arg(jdk.home.join("bin/java"));
        Runner::clean(&mut java);
        java.arg("-Xmx256m").arg("-cp").arg(classes_of(runner, jdk));
        java.arg(format!("-XX:StartFlightRecording=filename={name}.jfr"));
        java.arg(runner.agent(&format!("out={name}.json.gz,interval=10ms,events={events},quiet")));
        java.args(["Clock", &self.seconds.to_string()]).current_dir(&runner.runs);
        let jvm = java.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        jvm.map(Jvm).context("java")
    }
}

fn classes_of(runner: &Runner, jdk: &Jdk) -> PathBuf {
    runner.runs.join(format!("classes-{}", jdk.major))
}

/// Merges a run's recording into its profile.
fn merge(runner: &Runner, name: &str) -> Result<()> {
    let file = |ending: &str| runner.runs.join(format!("{name}.{ending}"));
    let log = runner.logs.join(format!("{name}.merge.log"));
    let mut merge = runner.vouch();
    merge.arg("merge").arg(file("json.gz")).arg(file("jfr"));
    merge.args(["--events", "vouch.Clock", "--most", "10000000", "--out"]).arg(file("merged.json"));
    match run_logged(&mut merge, &log)? {
        Outcome::Done => Ok(()),
        _ => Err(anyhow!("{name} cannot be merged: see {}", shown(&log))),
    }
}

/// The kind of events that contain their own time, by System.nanoTime.
const KIND: &str = "jfr.vouch.Clock";
/// A profile's times are whole microseconds.
const ROUNDED_MS: f64 = 0.001;

/// Reads merged profiles. The name of each has its JDK's version.
fn read(files: &[PathBuf]) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = files.iter().map(|file| Run::read(file)).collect::<Result<_, _>>()?;
    runs.sort_by_key(|run| (run.major, run.pauses == 0));
    Ok(runs)
}

/// Returns the table of these runs.
fn page(runs: &[Run]) -> String {
    let head = [
        "JDK",
        "pauses",
        "waits",
        "drift, µs a minute",
        "time of day off by, µs",
        "stated, µs",
        "events",
        "within it, %",
        "the farthest off, µs",
    ];
    table(&head, runs.iter().map(Run::row))
}

struct Run {
    major: u32,
    pauses: u64,
    waits: u64,
    drift_us: f64,
    offset_us: f64,
    stated_us: f64,
    /// How far the two ends of each event lie outside of what the program read on both sides of
    /// them, in milliseconds; in order.
    off_ms: Vec<f64>,
}

impl Run {
    fn read(file: &Path) -> Result<Self> {
        let wrong = |why: &str| format!("{}: {why}", file.display());
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let major = name.split('.').next().and_then(|major| major.parse().ok());
        let major = major.with_context(|| wrong("its name does not begin with a JDK's version"))?;
        let profile = json(file)?;
        let clock = &profile["meta"]["vouchMerged"][0]["clock"];
        let figure = |key: &str| clock[key].as_f64().with_context(|| wrong("it is no merged profile"));
        let mut run = Self {
            major,
            pauses: clock["pauses"].as_u64().unwrap_or(0),
            waits: clock["waits"].as_u64().unwrap_or(0),
            drift_us: figure("drift_ns_a_minute")? / 1e3,
            offset_us: figure("offset_ns")? / 1e3,
            stated_us: figure("uncertainty_ns")? / 1e3,
            off_ms: Vec::new(),
        };
        for Marker { start_ms, end_ms, data } in
            markers(&profile).filter(|marker| marker.data["type"] == KIND)
        {
            for (time, before, after) in [(start_ms, "before", "began"), (end_ms, "ending", "ended")] {
                let times = [time, data[before].as_f64(), data[after].as_f64()];
                let [Some(time), Some(before), Some(after)] = times else {
                    bail!(wrong("an event without its times"));
                };
                run.off_ms.push((before / 1e6 - time).max(time - after / 1e6).max(0.0));
            }
        }
        run.off_ms.sort_by(f64::total_cmp);
        if run.off_ms.is_empty() { Err(anyhow!(wrong("it has no event of Clock's"))) } else { Ok(run) }
    }

    /// Returns the share of events with at most the stated error, in thousandths of a percent. It
    /// is never rounded up.
    fn thousandths_within(&self) -> usize {
        let within = self.off_ms.partition_point(|off| *off <= self.stated_us / 1e3 + ROUNDED_MS);
        within * 100_000 / self.off_ms.len()
    }

    fn row(&self) -> Vec<String> {
        let share = self.thousandths_within();
        let most = self.off_ms.last().copied().unwrap_or(0.0) * 1e3;
        vec![
            self.major.to_string(),
            grouped(self.pauses),
            grouped(self.waits),
            format!("{:+.1}", self.drift_us),
            format!("{:+.0}", self.offset_us),
            format!("{:.1}", self.stated_us),
            grouped(self.off_ms.len() as u64 / 2),
            format!("{}.{:03}", share / 1_000, share % 1_000),
            format!("{most:.1}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_the_events_that_are_further_off_than_stated() {
        let off_ms = (0..1_000).map(|row| if row < 998 { 0.004 } else { 1.0 }).collect();
        let run = Run {
            major: 25,
            pauses: 1_234,
            waits: 9,
            drift_us: -3.25,
            offset_us: 7.0,
            stated_us: 4.0,
            off_ms,
        };
        assert_eq!(run.row(), ["25", "1,234", "9", "-3.2", "+7", "4.0", "500", "99.800", "1000.0"]);
    }
}
