//! Runs programs under profilers, and has `vouch top` read what they wrote.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::profilers::Profiler;
use crate::page::runner::{Jdk, Runner, run_logged, shown};

/// A regular expression for the names of the programs' threads. Virtual threads have no names.
const THREADS: &str = "^(main|DestroyJavaVM|pool-.*|ForkJoinPool-.*|\\[virtual threads\\]|)$";

/// What all runs need.
pub struct Runs<'r> {
    pub runner: &'r Runner,
    /// How long each run takes.
    pub seconds: u64,
    /// The folder of the programs' classes.
    pub classes: String,
    /// The library of async-profiler.
    pub async_profiler: String,
}

impl<'r> Runs<'r> {
    pub fn new(runner: &'r Runner, seconds: u64) -> Result<Self> {
        let classes = runner.variable("workload_classes")?;
        Ok(Self { runner, seconds, classes, async_profiler: runner.fetch_peer()? })
    }

    /// Returns the JVM option with which the profiler writes `FILE.json.gz` or `FILE.jfr`.
    pub fn option(&self, profiler: Profiler, file: &Path) -> String {
        let asynchronous = |options: &str| {
            let (library, file) = (&self.async_profiler, file.display());
            format!("-agentpath:{library}=start,event=cpu,interval=1ms{options},file={file}.jfr")
        };
        match profiler {
            Profiler::Vouch | Profiler::VouchC1 => {
                self.runner.agent(&format!("interval=1ms,quiet,out={}.json.gz", file.display()))
            }
            Profiler::Asgct => asynchronous(",cstack=no"),
            Profiler::Async | Profiler::AsyncC1 => asynchronous(""),
            Profiler::Jfr => format!(
                "-XX:StartFlightRecording=filename={}.jfr,settings=java-tests/workloads/samples.jfc",
                file.display()
            ),
        }
    }

    /// Converts `FILE.jfr` to `FILE.json.gz`, if the profiler wrote a recording.
    pub fn convert(&self, jdk: &Jdk, file: &Path, log: &Path) -> Result<()> {
        let recording = file.with_added_extension("jfr");
        if !recording.exists() {
            return Ok(());
        }
        let mut audit = self.runner.vouch();
        audit.arg("audit").arg(&recording).args(["--classes", &self.classes]).arg("--jdk").arg(&jdk.home);
        audit.arg("--out").arg(file.with_added_extension("json.gz"));
        run(&mut audit, log)
    }

    /// Writes what `vouch top --json` prints of a profile, with the callees' time in each method.
    pub fn top(&self, profile: &Path, out: &Path, options: &[&str]) -> Result<()> {
        let mut top = self.runner.vouch();
        top.arg("top").arg(profile).args(["--json", "--sort", "total", "--rows", "100000"]).args(options);
        print_into(&mut top, out)
    }
}

/// Runs the programs of `java-tests/workloads/Twins.java` on a JDK under a profiler.
pub struct Twins<'r> {
    pub runs: &'r Runs<'r>,
    pub jdk: &'r Jdk,
    pub profiler: Profiler,
    /// The folder of the results.
    pub folder: &'r Path,
}

impl Twins<'_> {
    /// Runs a program, and returns the file with its methods. The times by the program's own clock
    /// are beside it.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<PathBuf> {
        let Self { runs, jdk, profiler, folder } = self;
        let program_name = [&[program], arguments].concat().join(".");
        let name = format!("{}-{}-{program_name}", jdk.major, profiler.name());
        println!("{name}");
        let file = folder.join(&name);
        let log = runs.runner.logs.join(format!("{name}.log"));
        let mut java = Runner::java(&jdk.home, 120);
        java.arg("-Xmx1g");
        if profiler.is_c1_alone() {
            java.arg("-XX:TieredStopAtLevel=1");
        }
        let mut arguments = arguments.to_vec();
        // The JVM's option and not the program decides whether a method is inlined.
        if let Some(called) = arguments.first_mut()
            && let Some(way) = called.strip_suffix("-apart")
        {
            *called = way;
            for method in ["first", "second"] {
                java.arg(format!("-XX:CompileCommand=dontinline,Twins$Sweep::{method}"));
            }
        }
        java.arg("-Djdk.virtualThreadScheduler.parallelism=1").arg(runs.option(*profiler, &file));
        java.arg(format!("-Dvouch.known={}", file.with_added_extension("known").display()));
        java.args(["-cp", &runs.classes, "Twins", program, &runs.seconds.to_string()]).args(arguments);
        run(&mut java, &log)?;
        runs.convert(jdk, &file, &runs.runner.logs.join(format!("{name}-audit.log")))?;
        let (profile, top) = (file.with_added_extension("json.gz"), file.with_added_extension("json"));
        runs.top(&profile, &top, &["--thread", THREADS])?;
        // All profiles of all JDKs are too much for the disk.
        let _ = fs::remove_file(&profile);
        let _ = fs::remove_file(file.with_added_extension("jfr"));
        Ok(top)
    }
}

/// Runs a command to its end. Fails if the command fails, with the last line that it printed.
pub fn run(command: &mut Command, log: &Path) -> Result<()> {
    run_logged(command, log)?.check("it", log)
}

/// Runs a command that prints JSON, and keeps that in a file.
pub fn print_into(command: &mut Command, out: &Path) -> Result<()> {
    let program = command.get_program().display().to_string();
    let file = File::create(out).with_context(|| shown(out))?;
    let status = command.stdin(Stdio::null()).stdout(file).status();
    if !status.with_context(|| program.clone())?.success() {
        bail!("{program} failed, which writes {}", shown(out));
    }
    Ok(())
}
