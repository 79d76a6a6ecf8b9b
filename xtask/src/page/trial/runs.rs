//! Runs programs under each recorder, and audits what it recorded.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use super::recorder::Recorder;
use super::{shortest, tables};
use crate::page::runner::{Jdk, Outcome, Runner, last_line, run_logged, shown};

/// Runs programs one after another.
pub struct Runs<'r> {
    runner: &'r Runner,
    /// The folder of the reports, which are `MAJOR-RECORDER-PROGRAM.json`.
    folder: &'r Path,
    /// How long a workload runs. `None` runs the shortest programs.
    seconds: Option<u64>,
    /// The library of async-profiler, or nothing if it does not run.
    async_profiler: String,
    /// The folders and jars of the programs' classes, as an audit takes them.
    classes: String,
    pub counts: Counts,
}

/// What became of the runs.
#[derive(Debug, Default)]
pub struct Counts {
    runs: u32,
    failed: u32,
    left_out: u32,
    /// Runs in which a true stack was refuted.
    alarms: u32,
}

impl<'r> Runs<'r> {
    pub fn new(
        runner: &'r Runner,
        folder: &'r Path,
        seconds: Option<u64>,
        recorders: &[Recorder],
    ) -> Result<Self> {
        let classes = match seconds {
            Some(_) => runner.variable("workload_classes")? + ":" + &runner.variable("workload_jars")?,
            None => folder.join("classes").display().to_string(),
        };
        let is_needed = recorders.iter().any(|recorder| recorder.is_async_profiler());
        let async_profiler = if is_needed { runner.fetch_peer()? } else { String::new() };
        Ok(Self { runner, folder, seconds, async_profiler, classes, counts: Counts::default() })
    }

    /// Runs a program under a recorder, audits the recording, and prints a line about it.
    pub fn judge(&mut self, jdk: &Jdk, program: &str, recorder: Recorder) -> Result<()> {
        let name = format!("{}-{}-{program}", jdk.major, recorder.name());
        let row = format!("{:<3} {program:<9} {:<6}", jdk.major, recorder.name());
        let report = self.folder.join(format!("{name}.json"));
        let log = self.runner.logs.join(format!("{name}.log"));
        let _ = fs::remove_file(&report);
        let outcome = self.record(jdk, program, recorder, &report, &log)?;
        if outcome == Outcome::CannotRun {
            self.counts.left_out += 1;
            println!("{row} left out: {}", last_line(&log));
            return Ok(());
        }
        self.counts.runs += 1;
        let is_written = fs::metadata(&report).is_ok_and(|file| file.len() > 0);
        if outcome != Outcome::Done || !is_written {
            self.counts.failed += 1;
            let _ = fs::remove_file(&report);
            println!("{row} FAILED with {outcome:?}: see {}", shown(&log));
            return Ok(());
        }
        let (line, refuted) = tables::line(&report)?;
        println!("{line}");
        self.counts.alarms += u32::from(recorder == Recorder::True && refuted > 0);
        Ok(())
    }

    /// Runs a program under a recorder, and has the report written.
    fn record(
        &self,
        jdk: &Jdk,
        program: &str,
        recorder: Recorder,
        report: &Path,
        log: &Path,
    ) -> Result<Outcome> {
        let recording = self.folder.join("run.jfr");
        let _ = fs::remove_file(&recording);
        let options = if recorder == Recorder::Vouch {
            let profile = self.folder.join("profile.folded");
            let files = format!("out={},report={}", profile.display(), report.display());
            vec![self.runner.agent(&format!("interval=1ms,quiet,{files}"))]
        } else {
            recorder.options(&recording, &self.async_profiler)
        };
        let outcome = match self.seconds {
            Some(seconds) => self.runner.workload(program, seconds, jdk, &options, log)?,
            None => shortest::run(jdk, program, &options, Path::new(&self.classes), log)?,
        };
        if outcome != Outcome::Done || recorder == Recorder::Vouch {
            return Ok(outcome);
        }
        let mut audit = self.runner.vouch();
        audit.arg("audit").arg(&recording).arg("--report").arg(report).arg("--exact");
        audit.arg("--jdk").arg(&jdk.home).args(["--classes", &self.classes]);
        let outcome = run_logged(&mut audit, log)?;
        let _ = fs::remove_file(&recording);
        // Only a program can say that it cannot run.
        Ok(if outcome == Outcome::CannotRun { Outcome::Failed(3) } else { outcome })
    }
}

impl Counts {
    /// Fails if a true stack was refuted, or if a run failed.
    pub fn check(&self, runner: &Runner) -> Result<()> {
        if self.alarms > 0 {
            bail!("{} runs refuted a true stack", self.alarms);
        }
        runner.report_failed(self.failed)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, failed, left_out, alarms } = self;
        write!(out, "{runs} runs, {failed} failed, {left_out} left out; {alarms} with false alarms")
    }
}
