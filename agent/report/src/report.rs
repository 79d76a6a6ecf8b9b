//! The trust report: how far this profile can be trusted, in figures.
//!
//! The keys are a contract that tools read: none may be renamed, or left out because it is 0. A figure that was
//! not measured must never be there as a number.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use vouch_recording::{ByFate, Recording, Thread};

use crate::proof::{Conservation, EdgeReport, Power, RefutationReport};
use crate::time::{float, millis};

/// The report; its fields stand in the order of the file.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrustReport {
    /// Vouch's own version.
    pub vouch: String,
    pub jdk: String,
    pub vm_flags: Vec<String>,
    pub command: String,
    pub engine: String,
    /// Why a better engine was not taken, and whatever else a reader should know about this one.
    pub engine_notes: Vec<String>,
    /// The engine was stopped before the recording's end: what the program did since then is not sampled, nor in `threads`.
    pub engine_stopped: bool,
    /// What a sample's weight is counted in.
    pub interval_us: f64,
    /// The CPU time from one signal to the next, in the end: longer than the interval where this machine cannot afford that.
    pub sampled_interval_us: f64,
    pub rate: Rate,
    pub wall_ms: f64,
    /// What the kernel charged the process.
    pub cpu_ms: f64,
    /// What of it went to the agent's own threads.
    pub agent_cpu_ms: f64,
    pub samples: Signals<u64>,
    pub weight_ms: Signals<f64>,
    /// Of the samples without a stack, how many ASGCT gave each of its codes for.
    pub unwalked: BTreeMap<String, u64>,
    /// Of the samples whose stack is refuted, how many in which way.
    pub refuted: BTreeMap<String, u64>,
    pub edges: EdgeReport,
    /// The most frequent.
    pub refutations: Vec<RefutationReport>,
    /// By corruption.
    pub power: BTreeMap<String, Power>,
    pub conservation: Conservation,
    pub witness: WitnessReport,
    pub threads: Vec<ThreadReport>,
    pub handler_ns: HandlerTime,
    /// Methods that were gone before they could be named.
    pub names_lost: u64,
    pub bytes_recorded: u64,
}

/// What the signal handlers counted, independently of what was recorded.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    pub signals: u64,
    /// In intervals.
    pub weight: u64,
}

/// The signals delivered, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Signals<T> {
    pub signals: T,
    #[serde(flatten)]
    pub fates: ByFate<T>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(into = "RateWithUnit")]
pub struct Rate {
    pub asked_hz: f64,
    pub reached_hz: f64,
}

#[derive(Serialize)]
struct RateWithUnit {
    asked_hz: f64,
    reached_hz: f64,
    unit: &'static str,
}

impl From<Rate> for RateWithUnit {
    fn from(Rate { asked_hz, reached_hz }: Rate) -> Self {
        Self { asked_hz, reached_hz, unit: "samples per CPU-second" }
    }
}

/// Samples that were compared with GetStackTrace.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WitnessReport {
    pub asked: u64,
    /// Of those, the ones whose thread did not run between walk and witness: every frame was compared.
    pub exact: u64,
    pub agreed: u64,
    /// The ones whose thread may have run: only the roots were compared.
    pub root_only: u64,
    pub root_agreed: u64,
    /// The ones whose thread had no stack any more.
    pub gone: u64,
    /// How many differed in each way; what begins with `root_` is of roots.
    pub differences: BTreeMap<String, u64>,
    /// What all of it took, in wall time, and the longest of them.
    pub took_ms: f64,
    pub longest_ms: f64,
}

impl WitnessReport {
    /// Counts a difference.
    pub fn difference(&mut self, kind: &str) {
        *self.differences.entry(kind.to_owned()).or_default() += 1;
    }
}

/// How much CPU time the signal handler took for a sample.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct HandlerTime {
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
    pub total_ms: f64,
}

/// One thread under one name. Threads that share a track in the timeline have a row each.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadReport {
    pub name: String,
    pub tid: u64,
    /// What the kernel charged it; null if it was not asked in time.
    pub cpu_ms: Option<f64>,
    /// What its samples stand for, whatever became of them.
    pub sampled_ms: f64,
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
            sampled_ms,
            conserved: cpu_ms.and_then(|cpu_ms| Conservation::of(cpu_ms, sampled_ms).ratio),
            samples: tally.samples.sum(),
            refuted: tally.samples.refuted,
            unwalked: tally.samples.unwalked,
        }
    }
}

impl TrustReport {
    /// What the recording itself can tell. The fields that it cannot are the caller's to fill in.
    pub fn of(recording: &Recording, delivered: Delivered, interval_ns: u64) -> Self {
        let tally = recording.tally();
        let in_ms = |weight| intervals_ms(weight, interval_ns);
        let threads: Vec<_> =
            recording.threads().iter().map(|thread| ThreadReport::of(thread, interval_ns)).collect();
        // Those whose time the kernel told.
        let charged = threads.iter().filter_map(|thread| Some((thread.cpu_ms?, thread.sampled_ms)));
        let (cpu, sampled) = charged.fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        let conservation = Conservation::of(cpu, sampled);
        Self {
            interval_us: float(interval_ns) / 1000.0,
            samples: Signals { signals: delivered.signals, fates: tally.samples },
            weight_ms: Signals { signals: in_ms(delivered.weight), fates: tally.weight.map(in_ms) },
            conservation,
            threads,
            bytes_recorded: recording.bytes(),
            ..Self::default()
        }
    }

    /// Writes the report as JSON, for machines.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)?;
        out.flush()
    }
}

fn intervals_ms(weight: u64, interval_ns: u64) -> f64 {
    millis(weight.saturating_mul(interval_ns))
}
