//! The trust report and the profile's own description, from what a session knows.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::Ordering::Relaxed;

use once_cell::sync::Lazy;
use vouch_formats::{Identity, Meta};
use vouch_report::{Delivered, HandlerTime, Rate, Run, TrustReport, WitnessReport, float, grouped, percent};
use vouch_signal::handler::MOST_CRASHES;
use vouch_walk::recover;

use super::{Moment, Session, command_line};
use crate::clock::{nanos, seconds};
use crate::contexts::{contexts, published};
use crate::engine::{Choice, Engine};
use crate::events;
use crate::facade::Jvmti;
use crate::governor;
use crate::groups::groups;
use crate::hotspot::{HotSpot, arguments, virtual_threads};
use crate::markers::markers;
use crate::record::Powers;
use crate::say;
use crate::worker;

/// What there is to know of the program that is profiled.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub jdk: String,
    pub vm_flags: Vec<String>,
    /// The main class or jar and its arguments.
    pub command: String,
}

impl Program {
    /// Asks the JVM, and where that does not tell, the kernel for the command line.
    pub fn of(jvmti: Jvmti, hotspot: &HotSpot) -> Self {
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let given = command_line::given();
        let told = arguments::of(hotspot).map(|mut all| {
            all.extend_from_slice(command_line::class_path(&given));
            all
        });
        Self {
            jdk: format!("{} {}", property(c"java.vm.name"), property(c"java.vm.version")),
            vm_flags: told.unwrap_or(given),
            command: property(c"sun.java.command"),
        }
    }

    /// The main class or jar alone.
    pub fn name(&self) -> &str {
        let first = self.command.split(' ').next().unwrap_or_default();
        let last = first.rsplit('/').next().unwrap_or(first);
        if last.is_empty() { "java" } else { last }
    }
}

/// What the session knows of the run besides the recording.
pub fn run(session: &Session, program: &Program, power: Powers) -> Run {
    let now = Moment::now();
    let plan = &session.plan;
    let interval = plan.options.interval;
    let counters = session.rig.counters();
    let delivered =
        Delivered { signals: counters.signals.load(Relaxed), weight: counters.weight.load(Relaxed) };
    let cpu = now.process_cpu.saturating_sub(session.started.process_cpu);
    let agent_cpu = now.agent_cpu.saturating_sub(session.started.agent_cpu);
    let program_cpu = seconds(cpu.saturating_sub(agent_cpu));
    let story = governor::story();
    let (histogram, total) = session.recorder.handler_ns();
    Run {
        recorder: None,
        vouch: crate::VERSION.to_owned(),
        jdk: program.jdk.clone(),
        vm_flags: program.vm_flags.clone(),
        command: program.command.clone(),
        options: Some(plan.options.altered.clone()),
        engine: plan.choice.engine.name().to_owned(),
        engine_notes: notes(session, (&now, program_cpu), story.notes),
        sampled_interval_us: Some((interval * story.stride).as_secs_f64() * 1e6),
        engine_stopped: story.stopped,
        interval_ns: nanos(interval),
        delivered,
        rate: Some(Rate {
            asked_hz: 1.0 / interval.as_secs_f64(),
            reached_hz: if program_cpu > 0.0 { float(delivered.signals) / program_cpu } else { 0.0 },
        }),
        wall_ms: seconds(now.monotonic.saturating_sub(session.started.monotonic)) * 1000.0,
        runs_ms: None,
        cpu_ms: Some(seconds(cpu) * 1000.0),
        agent_cpu_ms: Some(seconds(agent_cpu) * 1000.0),
        unwalked: session.recorder.unwalked().clone(),
        plausible_because: session.recorder.plausible(interval),
        recording_file: session.disk.report(),
        handler_ns: Some(HandlerTime {
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            max: histogram.max(),
            total_ms: seconds(total) * 1000.0,
        }),
        refuted: session.recorder.refuted(),
        recovery: session.recorder.recovered(session.rig.recovery(), interval),
        walked_by: session.recorder.agreement().walked_by(session.walkers.names()),
        agreement: session.recorder.agreement().report(),
        edges: session.recorder.edges(),
        refutations: session.recorder.refutations(),
        power: power.proof,
        witness: WitnessReport {
            contradictions: session.recorder.contradictions(),
            power: power.witness,
            ..session.recorder.witness.counts().clone()
        },
        events: events::report(session.told),
        markers: markers().report(),
        markers_left_out: markers().lost(),
        groups: groups().report(),
        safepoints: session.totals.safepoints(),
        classes: session.totals.classes(),
        compilers: session.totals.compilers(),
        waiting: session.waiting.clone(),
        names_lost: session.recorder.names_lost(),
        stacks_cut: session.recorder.stacks_cut(),
        contexts_left_out: contexts().lost().saturating_sub(session.left_out_before),
    }
}

/// The profile's description of the run; its report is the caller's to put in.
pub fn meta(session: &Session, program: &Program) -> Meta {
    let now = Moment::now();
    Meta {
        product: format!("{} (Vouch)", program.name()),
        started_unix_ns: session.started.epoch,
        started_ns: session.started.monotonic,
        ended_ns: now.monotonic,
        anchors: session.anchors.kept().to_vec(),
        agent_tid: worker::tid(),
        pid: std::process::id(),
        identity: IDENTITY.clone(),
        process_name: program.name().to_owned(),
        arguments: shortened(&program.command),
        os: OS.clone(),
        cpu_count: std::thread::available_parallelism().map_or(0, |n| n.get().try_into().unwrap_or(0)),
        cpu_name: CPU_NAME.clone(),
        virtual_threads: session.plan.options.virtual_threads,
        report: TrustReport::default(),
    }
}

/// A command line of readable length; the report has all of it.
fn shortened(command: &str) -> String {
    const MOST: usize = 2_000;
    match command.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({} characters in all)", &command[..at], command.chars().count()),
        None => command.to_owned(),
    }
}

/// Threads that wait more often than this in a second of CPU time run for less than a quarter of a kernel's tick of 4 ms.
const FREQUENT_WAITS: f64 = 1_000.0;
/// Threads that wait more often than this run for less than ten times as long at a time as a poller needs to find them.
const VERY_FREQUENT_WAITS: f64 = 10_000.0;
/// Less CPU time says nothing of how often threads wait: in seconds, and as a share of the time that passed. A JVM that does nothing
/// waits a hundred times a second.
const MIN_PROGRAM_CPU: f64 = 0.3;
const MIN_PROGRAM_SHARE: f64 = 0.2;

/// A sentence where the engine samples threads that wait often with a bias.
fn wait_bias(session: &Session, now: &Moment, program_cpu: f64) -> Option<String> {
    let engine = session.plan.choice.engine;
    let wall = seconds(now.monotonic.saturating_sub(session.started.monotonic));
    let is_little = program_cpu < MIN_PROGRAM_CPU || program_cpu < MIN_PROGRAM_SHARE * wall;
    let (most, why) = match engine {
        Engine::Timer | Engine::Itimer => (FREQUENT_WAITS, "samples at the kernel's ticks"),
        Engine::Poll => (VERY_FREQUENT_WAITS, "may look too late for threads that run so briefly"),
        Engine::Perf { .. } | Engine::Hammer => return None,
    };
    let waits = float(now.waits.saturating_sub(session.started.waits)) / program_cpu;
    (waits > most && !is_little).then(|| {
        format!(
            "threads waited {waits:.0} times in a second of CPU time, and engine={} {why}: \
             shares of methods within threads that wait this often are biased (docs/production.md); engine=perf has no such bias",
            engine.name()
        )
    })
}

/// What a reader should know of the engine; `governor` is what that did.
fn notes(session: &Session, (now, program_cpu): (&Moment, f64), governor: Vec<String>) -> Vec<String> {
    let Choice { notes, warning, .. } = &session.plan.choice;
    let mut notes: Vec<String> = warning.iter().chain(notes).cloned().collect();
    notes.extend(wait_bias(session, now, program_cpu));
    let rested = session.rig.counters().rested.load(Relaxed);
    if rested > 0 {
        notes.push(format!(
            "stack walks were slow: skipped {rested} signals to keep walking below 10 % of a thread's CPU time (later samples \
             carry their weight)"
        ));
    }
    let (ended, all) = session.recorder.thread_ended();
    // Of less nobody need read.
    if ended * 100 > all {
        let remedy = match session.plan.choice.engine {
            Engine::Perf { .. } => "a shorter interval= loses less of this time",
            _ => "engine=perf loses less of this time, where it is allowed (vouch doctor)",
        };
        notes.push(format!(
            "{} of the time has no stack, since its threads ended, or left the recording, before their next sample (thread_ended): {remedy}",
            percent(100.0 * float(ended) / float(all))
        ));
    }
    let sharing = session.recorder.threads_shared();
    if sharing > 0 {
        notes.push(format!(
            "there were so many threads that the last {} share tracks with others of like names",
            grouped(sharing)
        ));
    }
    let crowded = session.rig.counters().crowded.load(Relaxed);
    if crowded > 0 {
        notes.push(format!(
            "the agent could not read samples as fast as they came: skipped {crowded} signals (later samples carry their \
             weight); a smaller depth= or a longer interval= leaves less to read"
        ));
    }
    if let Some((how, every)) = session.plan.options.break_walker {
        notes.push(format!(
            "the walker is broken on purpose ({how:?}, one walk of {every}): believe nothing of this profile"
        ));
    }
    notes.extend(governor);
    let crashed = session.rig.counters().crashed.load(Relaxed);
    if crashed > 0 {
        let end = if crashed < MOST_CRASHES { "" } else { ", so walking was stopped" };
        notes.push(format!(
            "{crashed} walks faulted and were ended{end}: a fault of this JVM's AsyncGetCallTrace"
        ));
    }
    let astray = session.rig.counters().astray.load(Relaxed);
    if astray > 0 {
        notes.push(format!("{astray} walks of Vouch's own walker came to what is no memory, and were ended"));
    }
    notes.extend(session.walkers.missing.clone());
    notes.extend(session.walkers.own.and_then(|_| virtual_threads::missing()));
    if session.walkers.wrong() {
        notes.push(
            "Vouch's own walker said something else of a thread's own stack than this JVM, and walked no more: please report it"
                .to_owned(),
        );
    }
    notes.extend(session.unrecovered.map(str::to_owned));
    let crashed = session.rig.recovery().map_or(0, |recovery| recovery.crashed.load(Relaxed));
    if crashed > 0 {
        let end = if crashed < recover::MOST_CRASHES { "" } else { ", so no more was tried" };
        notes.push(format!("{crashed} walks from repaired contexts faulted and were ended{end}"));
    }
    notes.extend(crate::guard::unguarded());
    notes.extend(session.untold.clone());
    notes.extend(events::left_out(session.told));
    notes.extend(published::unread());
    let lost = session.rig.events_lost() + session.recorder.events_lost();
    if lost > 0 {
        notes.push(format!("{lost} events could not be recorded"));
    }
    let refuted = session.recorder.events_refuted();
    if refuted > 0 {
        notes.push(format!(
            "the bytecode contradicts {refuted} stacks of events that the JVM itself reported: please report it"
        ));
    }
    let dropped = say::dropped();
    if dropped > 0 {
        notes.push(format!("dropped {dropped} lines on stderr: it was full, and nothing read it"));
    }
    let replaced = crate::engine::replaced();
    if replaced > 0 {
        notes.push(format!(
            "{replaced} threads got a timer for a perf event: a quarter of the file descriptors is used up \
             (raise `ulimit -n`)"
        ));
    }
    if let Some((threads, why)) = crate::threads::registry().unarmed() {
        notes.push(format!("{threads} threads could not be sampled: {why}"));
    }
    notes
}

static OS: Lazy<String> = Lazy::new(os);
static CPU_NAME: Lazy<String> = Lazy::new(cpu_name);
static IDENTITY: Lazy<Option<Identity>> = Lazy::new(identity);

fn os() -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    format!("{} {}", read("ostype").trim(), read("osrelease").trim())
}

fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or_else(String::new, |(_, name)| name.trim().to_owned())
}

/// None where `/proc` does not tell all of it.
fn identity() -> Option<Identity> {
    // What stands behind the name, which may hold anything; of that the 20th is when it was started.
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(Identity {
        boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned(),
        namespace: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
        pid: std::process::id(),
        started_ticks: fields.split_whitespace().nth(19)?.parse().ok()?,
    })
}
