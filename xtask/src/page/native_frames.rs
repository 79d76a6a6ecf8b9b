//! Makes the table of docs/native-frames.md: how many stacks break off before the start of their
//! thread, for Vouch, async-profiler and perf.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use vouch_report::grouped;

use super::document::Output;
use super::interface::Page;
use super::runner::{Jdk, Runner, processors, run_logged, shown};
use crate::report::{RunReport, share, table};

/// Functions in which a thread starts, without their library.
const THREAD_STARTS: [&str; 6] =
    ["start_thread", "clone3", "__clone3", "clone", "_start", "ret_from_fork_asm"];
/// Reasons of samples without a stack for which no walk was tried.
const NO_WALK: [&str; 3] = ["not_signalled", "thread_ended", "passed_over"];
/// How many causes a row names.
const MAX_CAUSES: usize = 3;

/// Stacks that break off, in real programs, of Vouch, async-profiler and perf
#[derive(Args, Debug)]
pub struct NativeFrames {
    /// How long each program runs under each profiler
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 25)]
    jdk: u32,
    /// Programs of java-tests/workloads
    #[arg(long, value_delimiter = ' ', default_value = "javac server database mix")]
    workloads: Vec<String>,
    #[command(flatten)]
    output: Output,
}

impl Page for NativeFrames {
    const NAME: &'static str = "native-frames";
    const DOCUMENT: &'static str = "docs/native-frames.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        runner.need("perf", "linux-perf")?;
        let jdk = runner.jdk(self.jdk)?;
        let asynchronous = runner.fetch_peer()?;
        runner.clear_runs()?;
        let mut rows = Vec::new();
        for program in &self.workloads {
            println!("{program}: {} s under each profiler", self.seconds);
            let run = Run { runner: &runner, jdk: &jdk, program, seconds: self.seconds };
            rows.push(row(program, "Vouch", &run.vouch()?));
            rows.push(row(program, "async-profiler", &run.async_profiler(&asynchronous)?));
            rows.push(row(program, "perf", &run.perf()?));
        }
        let head = ["program", "profiler", "walks", "break off", "where"];
        let text = format!(
            "JDK {}, {} s of each program at 1 ms, on a machine of {} processors.",
            self.jdk,
            self.seconds,
            processors()
        );
        self.output.put(Self::DOCUMENT, "native-frames-page", &text, &table(&head, rows))
    }
}

/// The walks of a profiler in one run, and the causes of those that break off.
#[derive(Debug, Default, PartialEq)]
struct Walks {
    count: u64,
    broken: BTreeMap<String, u64>,
}

impl Walks {
    /// Adds stacks with this outermost function.
    fn add(&mut self, outermost: &str, stacks: u64) {
        self.count += stacks;
        if !THREAD_STARTS.contains(&outermost) {
            *self.broken.entry(outermost.to_owned()).or_default() += stacks;
        }
    }

    /// Reads folded stacks, which begin with the outermost frame.
    fn from_folded(text: &str) -> Result<Self> {
        let mut walks = Self::default();
        for line in text.lines() {
            let (stack, count) = line.rsplit_once(' ').with_context(|| format!("no stack: {line}"))?;
            walks.add(stack.split(';').next().unwrap_or(stack), count.parse()?);
        }
        Ok(walks)
    }

    /// Reads the stacks of the process with the most samples. Samples without code of user space
    /// are left out.
    fn from_perf(text: &str) -> Self {
        let mut processes: BTreeMap<&str, Self> = BTreeMap::new();
        for sample in text.split("\n\n") {
            let mut lines = sample.lines().filter(|line| !line.is_empty());
            let (Some(process), Some(outermost)) = (lines.next(), lines.next_back()) else { continue };
            // A line such as `7f00 start_thread (/lib/libc.so.6)`.
            let frame = outermost.trim().split_once(' ').map_or("", |(_, frame)| frame);
            let (function, library) = frame.rsplit_once(" (").unwrap_or((frame, ""));
            if !library.contains("kernel") {
                processes.entry(process.trim()).or_default().add(function, 1);
            }
        }
        processes.into_values().max_by_key(|walks| walks.count).unwrap_or_default()
    }

    /// Reads the walks of a recording of Vouch's with native frames.
    fn from_report(of: &RunReport) -> Result<Self> {
        let run = &of.report.run;
        let native = run.native_walks.context("the recording has no native frames")?;
        let is_walk = |reason: &str| !NO_WALK.contains(&reason);
        let (walked, unwalked): (Vec<_>, Vec<_>) = run.unwalked.iter().partition(|(name, _)| is_walk(name));
        let other: u64 = unwalked.into_iter().map(|(_, count)| count).sum();
        let mut broken: BTreeMap<String, u64> =
            walked.into_iter().map(|(name, count)| (name.clone(), *count)).collect();
        broken.insert("native code".to_owned(), native.broken + native.failed);
        broken.extend(run.refuted.get("wrong_root").map(|count| ("wrong_root".to_owned(), *count)));
        broken.retain(|_, count| *count > 0);
        Ok(Self { count: of.report.samples.signals.saturating_sub(other), broken })
    }
}

/// Returns a row of the table.
fn row(program: &str, profiler: &str, walks: &Walks) -> Vec<String> {
    let mut causes: Vec<(&String, &u64)> = walks.broken.iter().collect();
    causes.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    causes.truncate(MAX_CAUSES);
    let causes: Vec<String> =
        causes.iter().map(|(name, count)| format!("{name} {}", grouped(**count))).collect();
    let broken = walks.broken.values().sum();
    let cells = [program, profiler, &grouped(walks.count), &share(broken, walks.count), &causes.join(", ")];
    cells.map(str::to_owned).to_vec()
}

/// A program, which is run under each profiler.
#[derive(Debug)]
struct Run<'r> {
    runner: &'r Runner,
    jdk: &'r Jdk,
    program: &'r str,
    seconds: u64,
}

impl Run<'_> {
    fn vouch(&self) -> Result<Walks> {
        let report = self.runner.runs.join(format!("{}-{}.json", self.jdk.major, self.program));
        let agent = self.runner.agent(&format!(
            "interval=1ms,native=on,quiet,out={}/profile.folded,report={}",
            self.runner.runs.display(),
            report.display()
        ));
        self.run("vouch", &mut self.workload(&[&agent]))?;
        Walks::from_report(&RunReport::read(&report)?)
    }

    fn async_profiler(&self, library: &str) -> Result<Walks> {
        let file = self.runner.runs.join(format!("{}.async.folded", self.program));
        let agent = format!(
            "-agentpath:{library}=start,event=cpu,interval=1ms,cstack=vmx,collapsed,file={}",
            file.display()
        );
        self.run("async-profiler", &mut self.workload(&[&agent]))?;
        Walks::from_folded(&read(&file)?)
    }

    fn perf(&self) -> Result<Walks> {
        let file = self.runner.runs.join(format!("{}.perf", self.program));
        let workload = self.workload(&["-XX:+PreserveFramePointer"]);
        let mut perf = Command::new("perf");
        perf.args(["record", "-F", "999", "-g", "-o"]).arg(&file).arg("--");
        perf.arg(workload.get_program()).args(workload.get_args());
        self.run("perf", &mut perf)?;
        let script: [OsString; 5] =
            ["script".into(), "-F".into(), "pid,ip,sym,dso".into(), "-i".into(), file.into()];
        let output = Command::new("perf").args(script).output().context("perf script")?;
        Ok(Walks::from_perf(&String::from_utf8_lossy(&output.stdout)))
    }

    fn workload(&self, options: &[&str]) -> Command {
        self.runner.workload_command(self.program, self.seconds, self.jdk, options)
    }

    fn run(&self, profiler: &str, command: &mut Command) -> Result<()> {
        let log = self.runner.logs.join(format!("{}-{profiler}.log", self.program));
        run_logged(command, &log)?.check(&format!("{} under {profiler}", self.program), &log)
    }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| shown(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::NativeReport;

    fn walks(count: u64, broken: &[(&str, u64)]) -> Walks {
        let broken = broken.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Walks { count, broken }
    }

    #[test]
    fn a_folded_stack_is_whole_if_it_begins_with_a_threads_start() {
        let text = "start_thread;a;b 7\n[unknown];b 2\n[unknown] 1\n";
        assert_eq!(Walks::from_folded(text).unwrap(), walks(10, &[("[unknown]", 3)]));
        assert!(Walks::from_folded("start_thread").is_err());
    }

    #[test]
    fn stacks_of_perf_are_of_the_process_with_the_most_samples() {
        let text = "    7 \n\t7f0 main (/bin/sh)\n\n   8 \n\tffff do_exit ([kernel.kallsyms])\n\n   8 \n\
                    \t1 read (/lib/a b.so)\n\t2 start_thread (/lib/libc.so.6)\n\n   8 \n\t3 [unknown] ([unknown])\n\n";
        assert_eq!(Walks::from_perf(text), walks(2, &[("[unknown]", 1)]));
    }

    #[test]
    fn samples_that_no_walk_was_tried_for_are_left_out() {
        let mut of = report(25, "", "mix");
        assert!(Walks::from_report(&of).is_err());
        of.report.run.native_walks =
            Some(NativeReport { whole: 900, broken: 2, failed: 1, ..NativeReport::default() });
        of.report.run.unwalked = [("thread_ended".to_owned(), 100), ("unknown_Java".to_owned(), 4)].into();
        let found = Walks::from_report(&of).unwrap();
        assert_eq!(found, walks(900, &[("native code", 3), ("unknown_Java", 4), ("wrong_root", 17)]));
        let row = row("mix", "Vouch", &found);
        assert_eq!(row, ["mix", "Vouch", "900", "2.67 %", "wrong_root 17, unknown_Java 4, native code 3"]);
    }
}
