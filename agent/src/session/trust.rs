//! Makes the trust report and the profile's description from a session.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::Ordering::Relaxed;

use once_cell::sync::Lazy;
use vouch_collect::record::Powers;
use vouch_formats::{Identity, Meta, resource_attributes};
use vouch_hotspot::{HotSpot, arguments};
use vouch_report::{Delivered, HandlerTime, NativeReport, Rate, Run, TrustReport, WitnessReport, float};
use vouch_sampling::clock::{nanos, seconds};
use vouch_sampling::governor;
use vouch_signal::sampler::Counters;

use super::command_line;
use super::notes::Notes;
use super::state::{Moment, Session};
use crate::contexts::contexts;
use crate::events;
use crate::facade::Jvmti;
use crate::groups::groups;
use crate::markers::markers;
use crate::worker;

/// The description of the profiled program.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub jdk: String,
    pub vm_flags: Vec<String>,
    /// The main class or jar and its arguments.
    pub command: String,
}

impl Program {
    /// Reads the command line from the JVM, or from the kernel if the JVM does not report it.
    pub fn from_jvm(jvmti: Jvmti, hotspot: &HotSpot) -> Self {
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let from_kernel = command_line::given();
        let reported = arguments::read(hotspot).map(|mut all| {
            all.extend_from_slice(command_line::class_path(&from_kernel));
            all
        });
        Self {
            jdk: format!("{} {}", property(c"java.vm.name"), property(c"java.vm.version")),
            vm_flags: reported.unwrap_or(from_kernel),
            command: property(c"sun.java.command"),
        }
    }

    /// Returns the main class or jar alone.
    pub fn name(&self) -> &str {
        let first = self.command.split(' ').next().unwrap_or_default();
        let last = first.rsplit('/').next().unwrap_or(first);
        if last.is_empty() { "java" } else { last }
    }
}

/// Returns the session's data on the run, apart from the recording.
pub fn run(session: &Session, program: &Program, power: Powers, now: &Moment) -> Run {
    let plan = &session.plan;
    let interval = plan.options.interval;
    let counters = session.sampler_setup.counters();
    let delivered =
        Delivered { signals: counters.signals.load(Relaxed), weight: counters.weight.load(Relaxed) };
    let cpu = now.process_cpu.saturating_sub(session.started.process_cpu);
    let agent_cpu = now.agent_cpu.saturating_sub(session.started.agent_cpu);
    let program_cpu = seconds(cpu.saturating_sub(agent_cpu));
    let story = governor::story();
    let notes = Notes::of_run(session, (now, program_cpu), &story);
    let (histogram, total) = session.recorder.handler_ns();
    Run {
        recorder: None,
        vouch: crate::version::VERSION.to_owned(),
        jdk: program.jdk.clone(),
        vm_flags: program.vm_flags.clone(),
        command: program.command.clone(),
        options: Some(plan.options.altered.clone()),
        engine: plan.choice.engine.name().to_owned(),
        engine_notes: notes.all,
        warnings: notes.warnings,
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
        recovery: session.recorder.recovered(session.sampler_setup.recovery(), interval),
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
        events: events::report(session.events),
        live_objects: session.live_objects,
        exact_totals: events::exact_totals(session.events),
        markers: markers().report(),
        markers_left_out: markers().lost(),
        groups: groups().report(),
        safepoints: session.totals.safepoints(),
        classes: session.totals.classes(),
        compilers: session.totals.compilers(),
        waiting: session.waiting.clone(),
        names_lost: session.recorder.names_lost(),
        stacks_cut: session.recorder.stacks_cut(),
        native_walks: native_walks(session, counters),
        native_calls: session.native.is_some().then(|| session.recorder.native.call_report()),
        wall_clock: session.wall_clock.as_ref().and_then(|times| times.report(&session.recorder)),
        contexts_left_out: contexts().lost().saturating_sub(session.left_out_before),
    }
}

/// Returns how walks of native frames ended, if there were any.
fn native_walks(session: &Session, counters: &Counters) -> Option<NativeReport> {
    let kernel = counters.kernel_stacks.load(Relaxed);
    let kernel_apart = counters.kernel_stacks_apart.load(Relaxed);
    let native = session.native.as_ref()?;
    Some(NativeReport { kernel, kernel_apart, ..native.report() })
}

/// Returns the profile's description of the run. The caller adds the report.
pub fn meta(session: &Session, program: &Program, now: &Moment) -> Meta {
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
        resource: resource_attributes(
            variable("OTEL_SERVICE_NAME").as_deref(),
            variable("OTEL_RESOURCE_ATTRIBUTES").as_deref(),
        ),
        measure: session.plan.options.measure.unwrap_or_default(),
        report: TrustReport::default(),
    }
}

/// Returns the value of an environment variable. One that is not UTF-8 is ignored.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Shortens a command line to a readable length. The report has all of it.
fn shortened(command: &str) -> String {
    const MAX_COMMAND_CHARS: usize = 2_000;
    match command.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((at, _)) => format!("{}… ({} characters in all)", &command[..at], command.chars().count()),
        None => command.to_owned(),
    }
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

/// Returns the process's identity, or `None` if `/proc` does not have all of it.
fn identity() -> Option<Identity> {
    // The fields after the name, which may contain any character. The 20th of them is the start
    // time.
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(Identity {
        boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned(),
        namespace: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
        pid: std::process::id(),
        started_ticks: fields.split_whitespace().nth(19)?.parse().ok()?,
    })
}
