//! The types of the trust report, and its construction from a recording.
//!
//! Tools read the report's keys. So no key may be renamed, or omitted because its value is 0. A
//! value that was not measured must be null or missing, never a number.

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
use crate::measures::{ExactTotal, LiveObjectsReport, MeasureReport, measures};
use crate::native_calls::NativeCallReport;
use crate::plausible::PlausibleReport;
use crate::proof::{Conservation, EdgeReport, Power, RefutationReport};
use crate::time::{float, intervals_ms, millis};
use crate::top_frame::TopFrameReport;
use crate::wall_clock::WallClockReport;
use crate::witness::WitnessReport;

/// The trust report, which says how far one recording can be trusted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TrustReport {
    #[serde(flatten)]
    pub run: Run,
    /// The clock by which another profiler took the samples. `None` if that clock is unknown, and
    /// for Vouch's own samples, which count CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// The event that another profiler's samples count, by that profiler's name for the event.
    /// `None` if the samples count time. A report with an event has no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    pub samples: Signals<u64>,
    /// The time of the samples of each fate. Null if samples count no time.
    pub weight_ms: Option<Signals<f64>>,
    /// The certainty of the top frames of proven and plausible stacks.
    #[serde(default)]
    pub top_frame: TopFrameReport,
    /// The totals of measures other than CPU time. The keys are the names of measures in the option
    /// `measure=`.
    #[serde(default)]
    pub measures: BTreeMap<String, MeasureReport>,
    pub conservation: Conservation,
    /// The CPU time that the program spent inside of its contexts.
    #[serde(default)]
    pub contexts: ContextsReport,
    pub threads: Vec<ThreadReport>,
    pub bytes_recorded: u64,
    /// The methods with the most self time, for the summary. `vouch top` lists all methods.
    #[serde(skip)]
    pub hottest: Hottest,
}

/// The values of a report that come from outside of the recording. The caller must set each of
/// them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Run {
    /// The version of Vouch that wrote the report.
    pub vouch: String,
    /// The profiler that took the samples, if Vouch only audited its recording. `None` for Vouch's
    /// own samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    pub jdk: String,
    pub vm_flags: Vec<String>,
    pub command: String,
    /// The agent's options that make this run differ from others, as `key=value`. `None` if the
    /// options are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    pub engine: String,
    /// The reasons for which a better engine was not used, and other remarks on the run.
    pub engine_notes: Vec<String>,
    /// The warnings that the summary prints first: refused requests, and harm to the program or the
    /// profile. `engine_notes` contains them, too.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// True if the engine was stopped before the end of the recording. Later work of the program is
    /// not sampled, and not in `threads`.
    pub engine_stopped: bool,
    /// The sampling interval in nanoseconds. A sample's weight is a number of such intervals.
    #[serde(rename = "interval_us", serialize_with = "in_micros", deserialize_with = "from_micros")]
    pub interval_ns: u64,
    /// The CPU time between two signals at the end of the run. It exceeds the interval if sampling
    /// at the interval is too slow on this machine. Null for audited recordings.
    pub sampled_interval_us: Option<f64>,
    pub rate: Option<Rate>,
    pub wall_ms: f64,
    /// The sum of the wall-clock times of all runs, if the report is on several runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_ms: Option<f64>,
    /// The CPU time that the kernel charged to the process during the run.
    pub cpu_ms: Option<f64>,
    /// The part of `cpu_ms` that the agent's own threads took.
    pub agent_cpu_ms: Option<f64>,
    #[serde(skip)]
    pub delivered: Delivered,
    /// The number of samples without a stack, by reason. The reasons have the names of
    /// AsyncGetCallTrace's codes.
    pub unwalked: BTreeMap<String, u64>,
    /// The plausible samples, by the reason for which their stacks are not proven. A sample may
    /// have several reasons.
    #[serde(default)]
    pub plausible_because: BTreeMap<String, PlausibleReport>,
    /// The number of samples with a refuted stack, by the kind of refutation.
    pub refuted: BTreeMap<String, u64>,
    /// The results of recovery, by strategy. Recovery tries to find stacks for samples without one.
    #[serde(default)]
    pub recovery: BTreeMap<String, RecoveryReport>,
    /// The number of samples by the walker that found their stack. `recovery` counts the stacks
    /// that recovery found.
    #[serde(default)]
    pub walked_by: BTreeMap<String, u64>,
    /// The samples that both walkers walked, by how their two stacks differed.
    #[serde(default)]
    pub agreement: BTreeMap<String, AgreementReport>,
    pub edges: EdgeReport,
    /// The most frequent refutations. A refutation shows that stacks cannot be true.
    pub refutations: Vec<RefutationReport>,
    /// The power of proof: for each kind of deliberate corruption, how many proof noticed.
    pub power: BTreeMap<String, Power>,
    pub witness: WitnessReport,
    /// The JVM events of the run. The keys are the names of kinds in the option `events=`. A kind
    /// that was not recorded has no entry.
    #[serde(default)]
    pub events: BTreeMap<String, EventReport>,
    /// The markers that the program wrote, by their class.
    #[serde(default)]
    pub markers: BTreeMap<String, EventReport>,
    /// The number of markers that are not shown because their classes were too many.
    #[serde(default)]
    pub markers_left_out: u64,
    /// The times of the program's groups of tasks, by the group's name.
    #[serde(default)]
    pub groups: BTreeMap<String, GroupReport>,
    /// The safepoints of the run. Null if the JVM does not report them.
    #[serde(default)]
    pub safepoints: Option<SafepointReport>,
    /// The classes that the run loaded. Null if the JVM does not report them.
    #[serde(default)]
    pub classes: Option<ClassReport>,
    /// The compilations of the run. Null if the JVM does not report them.
    #[serde(default)]
    pub compilers: Option<CompilerReport>,
    /// The threads that were waiting for a lock when the report was written.
    #[serde(default)]
    pub waiting: Vec<WaitingReport>,
    /// The exact totals of measures that events count, by the measure's key. The samples of the
    /// measure stand for the same, or for less if some were lost.
    #[serde(default)]
    pub exact_totals: BTreeMap<String, ExactTotal>,
    /// The sampled objects that were tracked. `None` if allocations were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_objects: Option<LiveObjectsReport>,
    /// The cost of writing the recording to disk. Null if that was turned off.
    #[serde(default)]
    pub recording_file: Option<RecordingFile>,
    pub handler_ns: Option<HandlerTime>,
    /// The number of methods that were unloaded before the agent read their names.
    pub names_lost: u64,
    /// The number of samples with a stack that was cut below the requested depth, because the
    /// memory for stacks was full.
    pub stacks_cut: u64,
    /// How the walks of native frames ended. `None` if stacks have only Java frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_walks: Option<NativeReport>,
    /// How the calls between native frames hold. `None` if stacks have only Java frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_calls: Option<NativeCallReport>,
    /// The wall-clock time of Java threads, by state. `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock: Option<WallClockReport>,
    /// The number of the program's contexts that were not recorded because the table was full.
    #[serde(skip)]
    pub contexts_left_out: u64,
}

/// The prefix of the option that limits sampling to some threads.
pub(crate) const THREADS_OPTION: &str = "threads=";

impl Run {
    /// Adds a warning, which the summary prints before all other lines.
    pub fn warn(&mut self, warning: String) {
        self.engine_notes.push(warning.clone());
        self.warnings.push(warning);
    }

    /// Returns the wall-clock time of the run, or the sum of these times for several runs.
    pub fn lasted_ms(&self) -> f64 {
        self.runs_ms.unwrap_or(self.wall_ms)
    }

    /// Returns the option `threads=…` if only some threads were sampled, otherwise `None`.
    pub fn threads_option(&self) -> Option<&str> {
        self.options.iter().flatten().find(|option| option.starts_with(THREADS_OPTION)).map(String::as_str)
    }

    /// True if signals came less often than requested. The comparison tolerates the rounding of the
    /// time to microseconds.
    pub fn is_rarer(&self) -> bool {
        self.sampled_interval_us.is_some_and(|sampled| sampled > float(self.interval_ns) / 1000.0 * 1.000_1)
    }

    /// Returns the CPU time between two signals at the end of the run. If it is unknown, returns
    /// the interval.
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

/// Deserialises an interval from microseconds. The interval is a whole number of nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn from_micros<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok((f64::deserialize(deserializer)? * 1000.0).round() as u64)
}

/// How walks of native frames ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NativeReport {
    /// At the thread's start, or in the Java code that called native code.
    pub whole: u64,
    /// Before that. Their stacks say where frames are missing.
    pub broken: u64,
    /// Without a frame, by a fault or because too many threads walked at once.
    pub failed: u64,
    /// Samples with frames of the kernel.
    #[serde(default)]
    pub kernel: u64,
    /// Samples without these frames, since the thread had gone on after they were recorded.
    #[serde(default)]
    pub kernel_apart: u64,
}

/// The cost of writing the recording to disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordingFile {
    /// The number of bytes that were written to the recording's file.
    pub bytes: u64,
    /// The CPU time that the agent's thread took for writing the recording. It lacks the last
    /// block's time.
    pub cpu_ms: f64,
}

/// The number of signals that the signal handlers counted. They count independently of the
/// recording.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Delivered {
    pub signals: u64,
    /// The total weight of all signals, in sampling intervals.
    pub weight: u64,
}

/// A value for all delivered signals, and one for the samples of each fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "FlatSignals<T>", from = "FlatSignals<T>")]
#[serde(bound(serialize = "T: Clone + Serialize", deserialize = "T: Deserialize<'de>"))]
pub struct Signals<T> {
    pub signals: T,
    pub fates: ByFate<T>,
}

/// The form of [`Signals`] in JSON: one flat object.
#[derive(Serialize, Deserialize)]
struct FlatSignals<T> {
    signals: T,
    proven: T,
    plausible: T,
    refuted: T,
    unwalked: T,
    outside: T,
    dropped: T,
}

impl<T> From<Signals<T>> for FlatSignals<T> {
    fn from(Signals { signals, fates }: Signals<T>) -> Self {
        let ByFate { proven, plausible, refuted, unwalked, outside, dropped } = fates;
        Self { signals, proven, plausible, refuted, unwalked, outside, dropped }
    }
}

impl<T> From<FlatSignals<T>> for Signals<T> {
    fn from(flat: FlatSignals<T>) -> Self {
        let FlatSignals { signals, proven, plausible, refuted, unwalked, outside, dropped } = flat;
        Self { signals, fates: ByFate { proven, plausible, refuted, unwalked, outside, dropped } }
    }
}

/// The samples per second of CPU time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(into = "RateWithUnit", from = "RateWithUnit")]
pub struct Rate {
    pub asked_hz: f64,
    pub reached_hz: f64,
}

/// The form of [`Rate`] in the report's JSON, which includes the unit.
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

/// The results of one recovery strategy. It looks for a stack if a sample has none, or only a
/// refuted one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// The number of repaired thread contexts that the strategy proposed for a second walk.
    pub tried: u64,
    /// The number of proposed contexts from which a stack was walked. Each such stack was checked
    /// against the bytecode.
    pub walked: u64,
    pub proven: u64,
    pub plausible: u64,
    /// The number of found stacks that proof refuted. No sample gets such a stack.
    pub refuted: u64,
    /// The time of the samples that got their stack by this strategy.
    pub weight_ms: f64,
}

/// The samples for which the stacks of the two walkers differed in one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreementReport {
    pub samples: u64,
    /// The number of samples for which AsyncGetCallTrace's stack was refuted.
    pub asgct_refuted: u64,
    /// The number of samples for which the stack of Vouch's own walker was refuted.
    pub own_refuted: u64,
}

/// The CPU time that the signal handler took: percentiles and maximum for one sample, and the
/// total.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct HandlerTime {
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
    pub total_ms: f64,
}

/// The samples of one thread under one name. Threads that share a track in the profile have
/// separate rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadReport {
    pub name: String,
    pub tid: u64,
    /// The CPU time that the kernel charged to the thread. Null if the thread ended before the
    /// agent read it.
    pub cpu_ms: Option<f64>,
    /// The time of the thread's samples of all fates. Null if samples count no time.
    pub sampled_ms: Option<f64>,
    /// The thread's sampled time divided by its charged time. Null if nothing was charged.
    pub conserved: Option<f64>,
    pub samples: u64,
    pub refuted: u64,
    pub unwalked: u64,
}

impl ThreadReport {
    fn new(thread: &Thread, interval_ns: u64) -> Self {
        let cpu_ms = thread.cpu_ns().map(millis);
        let tally = thread.tally();
        let sampled_ms = intervals_ms(tally.weight.sum(), interval_ns);
        Self {
            name: thread.name().to_owned(),
            tid: thread.tid(),
            cpu_ms,
            sampled_ms: Some(sampled_ms),
            conserved: cpu_ms.and_then(|cpu_ms| Conservation::new(cpu_ms, sampled_ms).ratio),
            samples: tally.samples.sum(),
            refuted: tally.samples.refuted,
            unwalked: tally.samples.unwalked,
        }
    }
}

impl TrustReport {
    /// Builds the trust report on a recording of this run.
    pub fn from_recording(recording: &Recording, run: Run) -> Self {
        let interval_ns = run.interval_ns;
        let tally = recording.tally();
        let in_ms = |weight| intervals_ms(weight, interval_ns);
        let threads: Vec<_> =
            recording.threads().iter().map(|thread| ThreadReport::new(thread, interval_ns)).collect();
        // Only threads with a known CPU time count for conservation.
        let charged = threads.iter().filter_map(|thread| Some((thread.cpu_ms?, thread.sampled_ms?)));
        let (cpu, sampled) = charged.fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        let contexts = ContextsReport::new(recording, interval_ns, run.contexts_left_out);
        let Delivered { signals, weight } = run.delivered;
        Self {
            run,
            clock: None,
            event: None,
            samples: Signals { signals, fates: tally.samples },
            weight_ms: Some(Signals { signals: in_ms(weight), fates: tally.weight.map(in_ms) }),
            top_frame: TopFrameReport::from_recording(recording, interval_ns),
            measures: measures(recording),
            conservation: Conservation::new(cpu, sampled),
            contexts,
            threads,
            bytes_recorded: recording.bytes(),
            hottest: Hottest::from_recording(recording),
        }
    }

    /// Returns the values that all shares are shares of: the time of the samples, or their number
    /// if samples count no time.
    pub fn weights(&self) -> ByFate<f64> {
        self.weight_ms.map_or_else(|| self.samples.fates.map(float), |weight| weight.fates)
    }

    /// Writes the report as JSON.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)?;
        out.flush()
    }
}
