//! Makes the table of docs/cost.md on events: the cost of each kind in a program that only causes
//! such events.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use super::document::Output;
use super::interface::Page;
use super::runner::{Outcome, Runner, last_line, processors, release_of, run_logged, shown};
use super::spread::middle;
use crate::report::table;

/// What an event of each kind costs, without a profiler, with Vouch and with JFR
///
/// It needs a JDK of 17 or newer. All values of a row are from runs in turns.
#[derive(Args, Debug)]
pub struct EventCost {
    /// Runs of each kind in each way
    #[arg(long, default_value_t = 3)]
    turns: u32,
    /// Kinds of events; all by default
    #[arg(long, value_delimiter = ' ')]
    kinds: Vec<String>,
    /// The JDK; the newest one by default
    #[arg(long, value_name = "VERSION")]
    jdk: Option<u32>,
    #[command(flatten)]
    output: Output,
}

/// Vouch's kinds of events, each with JFR's events for the same thing.
const KINDS: [(&str, &[&str]); 9] = [
    ("gc", &["jdk.GarbageCollection"]),
    ("monitor", &["jdk.JavaMonitorEnter"]),
    ("wait", &["jdk.JavaMonitorWait"]),
    ("park", &["jdk.ThreadPark"]),
    ("alloc", &["jdk.ObjectAllocationSample"]),
    ("exception", &["jdk.JavaExceptionThrow"]),
    ("class", &["jdk.ClassLoad", "jdk.ClassDefine"]),
    ("jit", &["jdk.Compilation"]),
    ("deopt", &["jdk.Deoptimization"]),
];

impl Page for EventCost {
    const NAME: &'static str = "event-cost";
    const DOCUMENT: &'static str = "docs/cost.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.clear_runs()?;
        let jdk = self
            .jdk
            .map_or_else(|| Ok(runner.newest.clone()), |major| runner.jdk(major).map(|jdk| jdk.home))?;
        let classes = runner.runs.join("classes");
        let sources = ["java-tests/cost/EventCost.java", "java-tests/cost/Compilations.java"];
        runner.compile(&jdk, &classes, &[&[COUNTERS][..], &sources].concat())?;
        let mut rows = Vec::new();
        for (kind, events) in KINDS {
            if !self.kinds.is_empty() && !self.kinds.iter().any(|named| named == kind) {
                continue;
            }
            println!("{kind}: {} times without a profiler, with Vouch, with JFR", self.turns);
            let settings = runner.runs.join(format!("{kind}.jfc"));
            fs::write(&settings, jfr_settings(events)).with_context(|| shown(&settings))?;
            rows.push(self.row(&runner, &jdk, kind, &settings)?);
        }
        let text = format!(
            "Nanoseconds of the process's CPU time for one event: the middle of {} runs of 2 s, and the middle\n\
             half. {}, `-XX:+UseSerialGC`, a machine of {} processors.",
            self.turns,
            release_of(&jdk)?,
            processors()
        );
        let head = [
            "kind",
            "without a profiler",
            "Vouch, `events=off`",
            "Vouch, `events=KIND`",
            "JFR, the same event",
        ];
        self.output.put(Self::DOCUMENT, "event-cost", &text, &table(&head, rows))
    }
}

impl EventCost {
    fn row(&self, runner: &Runner, jdk: &Path, kind: &str, settings: &Path) -> Result<Vec<String>> {
        let runs = runner.runs.display();
        let vouch = |events: &str| {
            let files = format!("out={runs}/profile.json,report={runs}/{kind}.json");
            vec![runner.agent(&format!("quiet,interval=10s,{files},events={events}"))]
        };
        let jfr = format!("-XX:StartFlightRecording:settings={},filename={runs}/r.jfr", settings.display());
        let ways = [vec![], vouch("off"), vouch(kind), vec![jfr, "-Xlog:jfr*=off".to_owned()]];
        let mut nanos = [const { Vec::new() }; 4];
        for _ in 0..self.turns {
            for (options, nanos) in ways.iter().zip(&mut nanos) {
                nanos.push(once(runner, jdk, kind, options)?);
            }
        }
        let mut row = vec![format!("`{kind}`")];
        for nanos in &nanos {
            row.push(middle(nanos, |value| format!("{value}"))?);
        }
        Ok(row)
    }
}

/// The JVM's counters, by which the program finds how many methods were compiled.
const COUNTERS: &str = "--add-exports=jdk.internal.jvmstat/sun.jvmstat.monitor=ALL-UNNAMED";

/// Flags by which C1 compiles each method at its second call, while its caller waits. `-Xcomp`
/// would compile before the first call, when nothing is linked.
/// The code cache is large, since on JDK 17 the sweeper would take more than the compiler.
const COMPILE_SOON: [&str; 9] = [
    COUNTERS,
    "-XX:ReservedCodeCacheSize=400m",
    "-XX:MetaspaceSize=400m",
    "-XX:-BackgroundCompilation",
    "-XX:TieredStopAtLevel=1",
    "-XX:Tier0InvokeNotifyFreqLog=0",
    "-XX:Tier3InvocationThreshold=1",
    "-XX:Tier3MinInvocationThreshold=1",
    "-XX:Tier3CompileThreshold=1",
];

/// Returns the CPU time of one event, in nanoseconds.
fn once(runner: &Runner, jdk: &Path, kind: &str, options: &[String]) -> Result<f64> {
    let log = runner.logs.join("run.log");
    let mut java = Runner::java(jdk, 60);
    java.args(["-Xmx256m", "-XX:+UseSerialGC"]).args(options);
    if kind == "jit" {
        java.args(COMPILE_SOON);
    }
    java.arg("-cp").arg(runner.runs.join("classes")).args(["EventCost", kind]);
    let outcome = run_logged(&mut java, &log)?;
    let text = fs::read_to_string(&log).with_context(|| shown(&log))?;
    let nanos = text.lines().find_map(|line| line.strip_prefix("ns=")?.split(' ').next()?.parse().ok());
    nanos
        .filter(|_| outcome == Outcome::Done)
        .with_context(|| format!("{kind} failed with {options:?}: {}: see {}", last_line(&log), shown(&log)))
}

/// Returns JFR's settings that record only these events, with stacks, however short the events are.
fn jfr_settings(events: &[&str]) -> String {
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><configuration version=\"2.0\">\n");
    for event in events {
        let _ = writeln!(
            text,
            "<event name=\"{event}\"><setting name=\"enabled\">true</setting>\
             <setting name=\"stackTrace\">true</setting><setting name=\"threshold\">0 ms</setting></event>"
        );
    }
    text + "</configuration>\n"
}
