//! The trust report: how far this profile can be trusted, in figures.
//!
//! The keys are a contract that tools read: none may be renamed, or left out because it is 0. A
//! figure that was not measured must never be there as a number.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vouch_recording::{ByFate, Recording, Thread};

use crate::clock::Clock;
use crate::contexts::ContextsReport;
use crate::groups::GroupReport;
use crate::hottest::Hottest;
use crate::jvm::{ClassReport, CompilerReport, EventReport, SafepointReport, WaitingReport};
use crate::plausible::PlausibleReport;
use crate::proof::{Conservation, EdgeReport, Power, RefutationReport};
use crate::time::{float, intervals_ms, millis};
use crate::top_frame::TopFrameReport;
use crate::witness::WitnessReport;

/// The report.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TrustReport {
    #[serde(flatten)]
    pub run: Run,
    /// By which another profiler has sampled, as far as that is told; none: Vouch's own, CPU
    /// time's, if it has no recorder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What its samples count where that is no time, by the recorder's own word; then there is no
    /// clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    pub samples: Signals<u64>,
    /// Null where they stand for no time.
    pub weight_ms: Option<Signals<f64>>,
    /// How the top frames of proven and plausible stacks are known.
    #[serde(default)]
    pub top_frame: TopFrameReport,
    pub conservation: Conservation,
    /// Whose CPU time it was, as far as the program has told.
    #[serde(default)]
    pub contexts: ContextsReport,
    pub threads: Vec<ThreadReport>,
    pub bytes_recorded: u64,
    #[serde(skip)]
    /// For the summary; `vouch top` has all of them.
    pub hottest: Hottest,
}

/// What a recording itself cannot tell: each figure is the caller's to know.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Run {
    /// Vouch's own version.
    pub vouch: String,
    /// Whose samples these are, which Vouch has only audited; none: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    pub jdk: String,
    pub vm_flags: Vec<String>,
    pub command: String,
    /// The agent's options that other runs of the program may not have had, as `key=value`; none:
    /// nobody has told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    pub engine: String,
    /// Why a better engine was not taken, and whatever else a reader should know about this one.
    pub engine_notes: Vec<String>,
    /// Those of the notes that the summary begins with: what was asked for and refused, and what
    /// can harm the program or the profile.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The engine was stopped before the recording's end: what the program did since then is not
    /// sampled, nor in `threads`.
    pub engine_stopped: bool,
    /// What a sample's weight is counted in.
    #[serde(rename = "interval_us", serialize_with = "in_micros", deserialize_with = "of_micros")]
    pub interval_ns: u64,
    /// The CPU time from one signal to the next, in the end: longer than the interval where this
    /// machine cannot afford that; null, like all that its own recorder alone can measure, where
    /// Vouch has only audited.
    pub sampled_interval_us: Option<f64>,
    pub rate: Option<Rate>,
    pub wall_ms: f64,
    /// Where this is of several runs: how long each of them took, added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_ms: Option<f64>,
    /// What the kernel charged the process.
    pub cpu_ms: Option<f64>,
    /// What of it went to the agent's own threads.
    pub agent_cpu_ms: Option<f64>,
    #[serde(skip)]
    pub delivered: Delivered,
    /// Of the samples without a stack, how many ASGCT gave each of its codes for.
    pub unwalked: BTreeMap<String, u64>,
    /// Why samples are plausible and not proven, by reason. A sample may have several.
    #[serde(default)]
    pub plausible_because: BTreeMap<String, PlausibleReport>,
    /// Of the samples whose stack is refuted, how many in which way.
    pub refuted: BTreeMap<String, u64>,
    /// By strategy.
    #[serde(default)]
    pub recovery: BTreeMap<String, RecoveryReport>,
    /// How many samples have their stack by which walker; those by a strategy of recovery are in
    /// `recovery`.
    #[serde(default)]
    pub walked_by: BTreeMap<String, u64>,
    /// How the accounts of two walkers differed, where there were two.
    #[serde(default)]
    pub agreement: BTreeMap<String, AgreementReport>,
    pub edges: EdgeReport,
    /// The most frequent.
    pub refutations: Vec<RefutationReport>,
    /// By corruption.
    pub power: BTreeMap<String, Power>,
    pub witness: WitnessReport,
    /// What the JVM did meanwhile, by the word of `events=`; a kind that was not recorded has none.
    #[serde(default)]
    pub events: BTreeMap<String, EventReport>,
    /// What the program told of itself, by the class of its markers.
    #[serde(default)]
    pub markers: BTreeMap<String, EventReport>,
    /// Of which nothing could be shown, since their kinds are too many.
    #[serde(default)]
    pub markers_left_out: u64,
    /// What the program's groups of tasks have taken, by name.
    #[serde(default)]
    pub groups: BTreeMap<String, GroupReport>,
    /// How long all threads stood still, for whatever reason; null where the JVM does not tell.
    #[serde(default)]
    pub safepoints: Option<SafepointReport>,
    /// What it took to have classes, and what the compilers did; null where the JVM does not tell.
    #[serde(default)]
    pub classes: Option<ClassReport>,
    #[serde(default)]
    pub compilers: Option<CompilerReport>,
    /// Threads that wanted a lock and had not got it when this was written.
    #[serde(default)]
    pub waiting: Vec<WaitingReport>,
    /// What the file cost that outlives a JVM that is killed; null where there was none.
    #[serde(default)]
    pub recording_file: Option<RecordingFile>,
    pub handler_ns: Option<HandlerTime>,
    /// Methods that were gone before they could be named.
    pub names_lost: u64,
    /// Samples of which less of the stack is kept than was asked for, since all stacks together may
    /// take no more room.
    pub stacks_cut: u64,
    /// Contexts that the program named and there was no room for.
    #[serde(skip)]
    pub contexts_left_out: u64,
}

/// What the option begins with that names the threads that alone are sampled.
pub(crate) const THREADS: &str = "threads=";

impl Run {
    /// Adds a note that the summary begins with.
    pub fn warn(&mut self, warning: String) {
        self.engine_notes.push(warning.clone());
        self.warnings.push(warning);
    }

    /// What a share of its time is one of.
    pub fn lasted_ms(&self) -> f64 {
        self.runs_ms.unwrap_or(self.wall_ms)
    }

    /// The option by which some threads alone are sampled, if there is one.
    pub fn threads_wanted(&self) -> Option<&str> {
        self.options.iter().flatten().find(|option| option.starts_with(THREADS)).map(String::as_str)
    }

    /// True if signals came less often than was asked for. (Not by `>` alone: a time in seconds is
    /// not exact.)
    pub fn is_rarer(&self) -> bool {
        self.sampled_interval_us.is_some_and(|sampled| sampled > float(self.interval_ns) / 1000.0 * 1.000_1)
    }

    /// The CPU time from one signal to the next, in the end; the interval where nobody knows.
    pub fn sampled_ns(&self) -> u64 {
        let sampled = self.sampled_interval_us.and_then(|us| Duration::try_from_secs_f64(us / 1e6).ok());
        let sampled = sampled.unwrap_or_default();
        u64::try_from(sampled.as_nanos()).unwrap_or(u64::MAX).max(self.interval_ns)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn in_micros<S: Serializer>(nanos: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(float(*nanos) / 1000.0)
}

/// The other way: an interval is of whole nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what does not fit is as near as can be"
)]
fn of_micros<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok((f64::deserialize(deserializer)? * 1000.0).round() as u64)
}

/// What a recording on disk takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordingFile {
    /// Written to it in all.
    pub bytes: u64,
    /// Of the agent's own time, until the last that was written: what it says at the end is not in
    /// it.
    pub cpu_ms: f64,
}

/// What the signal handlers counted, independently of what was recorded.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Delivered {
    pub signals: u64,
    /// In intervals.
    pub weight: u64,
}

/// The signals delivered, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Figures<T>", from = "Figures<T>")]
#[serde(bound(serialize = "T: Clone + Serialize", deserialize = "T: Deserialize<'de>"))]
pub struct Signals<T> {
    pub signals: T,
    pub fates: ByFate<T>,
}

/// The same as the report has it: one object.
#[derive(Serialize, Deserialize)]
struct Figures<T> {
    signals: T,
    proven: T,
    plausible: T,
    refuted: T,
    unwalked: T,
    outside: T,
    dropped: T,
}

impl<T> From<Signals<T>> for Figures<T> {
    fn from(Signals { signals, fates }: Signals<T>) -> Self {
        let ByFate { proven, plausible, refuted, unwalked, outside, dropped } = fates;
        Self { signals, proven, plausible, refuted, unwalked, outside, dropped }
    }
}

impl<T> From<Figures<T>> for Signals<T> {
    fn from(figures: Figures<T>) -> Self {
        let Figures { signals, proven, plausible, refuted, unwalked, outside, dropped } = figures;
        Self { signals, fates: ByFate { proven, plausible, refuted, unwalked, outside, dropped } }
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(into = "RateWithUnit", from = "RateWithUnit")]
pub struct Rate {
    pub asked_hz: f64,
    pub reached_hz: f64,
}

#[derive(Serialize, Deserialize)]
struct RateWithUnit {
    asked_hz: f64,
    reached_hz: f64,
    unit: String,
}

impl From<Rate> for RateWithUnit {
    fn from(Rate { asked_hz, reached_hz }: Rate) -> Self {
        Self { asked_hz, reached_hz, unit: "samples per CPU-second".to_owned() }
    }
}

impl From<RateWithUnit> for Rate {
    fn from(RateWithUnit { asked_hz, reached_hz, .. }: RateWithUnit) -> Self {
        Self { asked_hz, reached_hz }
    }
}

/// What a strategy of recovery has brought, for samples whose walk found no stack, or a refuted
/// one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// Contexts that it proposed, and those of them that gave a stack and were held to the
    /// bytecode.
    pub tried: u64,
    pub walked: u64,
    /// What became of these. What is refuted is not taken for the sample's stack.
    pub proven: u64,
    pub plausible: u64,
    pub refuted: u64,
    /// What the samples stand for that have their stack by it.
    pub weight_ms: f64,
}

/// Samples whose two accounts differed in one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreementReport {
    pub samples: u64,
    /// Those where proof refutes the one account, and the other.
    pub asgct_refuted: u64,
    pub own_refuted: u64,
}

/// How much CPU time the signal handler took for a sample.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct HandlerTime {
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
    pub total_ms: f64,
}

/// One thread under one name. Threads that share a track in the timeline have a row each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadReport {
    pub name: String,
    pub tid: u64,
    /// What the kernel charged it; null if it was not asked in time.
    pub cpu_ms: Option<f64>,
    /// What its samples stand for, whatever became of them; null where that is no time.
    pub sampled_ms: Option<f64>,
    /// Sampled of charged; null where nothing was charged.
    pub conserved: Option<f64>,
    pub samples: u64,
    pub refuted: u64,
    pub unwalked: u64,
}

impl ThreadReport {
    fn of(thread: &Thread, interval_ns: u64) -> Self {
        let cpu_ms = thread.cpu_ns().map(millis);
        let tally = thread.tally();
        let sampled_ms = intervals_ms(tally.weight.sum(), interval_ns);
        Self {
            name: thread.name().to_owned(),
            tid: thread.tid(),
            cpu_ms,
            sampled_ms: Some(sampled_ms),
            conserved: cpu_ms.and_then(|cpu_ms| Conservation::of(cpu_ms, sampled_ms).ratio),
            samples: tally.samples.sum(),
            refuted: tally.samples.refuted,
            unwalked: tally.samples.unwalked,
        }
    }
}

impl TrustReport {
    /// The report on a recording of this run.
    pub fn of(recording: &Recording, run: Run) -> Self {
        let interval_ns = run.interval_ns;
        let tally = recording.tally();
        let in_ms = |weight| intervals_ms(weight, interval_ns);
        let threads: Vec<_> =
            recording.threads().iter().map(|thread| ThreadReport::of(thread, interval_ns)).collect();
        // Those whose time the kernel told.
        let charged = threads.iter().filter_map(|thread| Some((thread.cpu_ms?, thread.sampled_ms?)));
        let (cpu, sampled) = charged.fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        let contexts = ContextsReport::of(recording, interval_ns, run.contexts_left_out);
        let Delivered { signals, weight } = run.delivered;
        Self {
            run,
            clock: None,
            event: None,
            samples: Signals { signals, fates: tally.samples },
            weight_ms: Some(Signals { signals: in_ms(weight), fates: tally.weight.map(in_ms) }),
            top_frame: TopFrameReport::from_recording(recording, interval_ns),
            conservation: Conservation::of(cpu, sampled),
            contexts,
            threads,
            bytes_recorded: recording.bytes(),
            hottest: Hottest::from_recording(recording),
        }
    }

    /// What shares are of: the time that samples stand for, or else their number.
    pub fn weights(&self) -> ByFate<f64> {
        self.weight_ms.map_or_else(|| self.samples.fates.map(float), |weight| weight.fates)
    }

    /// Writes the report as JSON, for machines.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)?;
        out.flush()
    }
}
