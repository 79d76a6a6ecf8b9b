//! Compares the CPU time that the recording has for each thread with the time of the thread's
//! samples. Time without samples is a gap.
//!
//! It must never count a load for time before the thread began.

use foldhash::{HashMap, HashMapExt};
use vouch_jfr::{Chunk, Event, Type, Value};
use vouch_report::{float, millis};

use crate::index::{RecordingIndex, ThreadId, add};
use crate::kinds;
use crate::run_info::RunInfo;

/// The period of `jdk.ThreadCPULoad` if the settings have none.
const DEFAULT_LOAD_PERIOD_NS: u64 = 10_000_000_000;
/// A thread with less CPU time than this has no gap.
const MIN_CPU_MS: f64 = 100.0;
/// There is a gap only if samples cover less than this share of the CPU time.
const MAX_SAMPLED_SHARE: f64 = 0.5;
/// A gap must exceed the sampling noise by this many standard deviations.
const GAP_SIGMAS: f64 = 4.0;

/// An event kind that describes the CPU time of threads.
#[derive(Debug, Clone, Copy)]
pub enum CpuEvent {
    /// An event with the share of the machine that a thread used since the previous such event.
    Load,
    /// An event for the start of a thread.
    Start,
}

impl CpuEvent {
    pub fn from_type(kind: &Type) -> Option<Self> {
        match kind.name.as_str() {
            "jdk.ThreadCPULoad" => Some(Self::Load),
            "jdk.ThreadStart" => Some(Self::Start),
            _ => None,
        }
    }

    /// Returns the name of the field that contains the thread.
    pub fn thread_field(self) -> &'static str {
        match self {
            Self::Load => "eventThread",
            Self::Start => "thread",
        }
    }
}

/// The CPU time of all threads, as the recording's own events report it.
#[derive(Debug, Default)]
pub struct CpuTimes {
    threads: HashMap<ThreadId, CpuCharge>,
    /// The loads in the current chunk: thread, time since 1970, and share of the machine. They are
    /// not in the order of time.
    loads: Vec<(ThreadId, i64, f64)>,
    /// For each thread: the time of its samples that have their own period.
    stated_ns: HashMap<ThreadId, u64>,
}

/// The CPU time of one thread.
#[derive(Debug, Clone, Copy, Default)]
struct CpuCharge {
    /// The time until which this thread's load was counted. At first it is the thread's start.
    from_ns: i64,
    /// The sum of each load multiplied by its duration, in nanoseconds of the whole machine.
    share_ns: f64,
}

/// A thread's CPU time, once by its loads and once by its samples.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadCpuTime {
    /// The CPU time that `jdk.ThreadCPULoad` reports.
    pub cpu_ms: f64,
    /// The CPU time that the thread's samples add up to.
    pub sampled_ms: f64,
    /// The number of the thread's samples.
    samples: u64,
}

impl ThreadCpuTime {
    /// Returns the CPU time that no samples cover, if it is more than sampling noise explains.
    pub fn gap_ms(self) -> Option<f64> {
        let Self { cpu_ms, sampled_ms, samples } = self;
        let each = sampled_ms / float(samples.max(1));
        let at_most = sampled_ms + GAP_SIGMAS * each * float(samples + 1).sqrt();
        (cpu_ms >= MIN_CPU_MS && at_most < MAX_SAMPLED_SHARE * cpu_ms).then_some(cpu_ms - sampled_ms)
    }
}

impl CpuTimes {
    /// Adds an event about a thread's CPU time. Returns false if it cannot be read.
    pub fn add_event(
        &mut self,
        cpu_event: CpuEvent,
        chunk: &Chunk,
        event: &Event<'_>,
        thread: ThreadId,
    ) -> bool {
        let Ok(values) = event.values() else { return false };
        let field = |name: &str| event.kind.field(name);
        let began = field("startTime").and_then(|row| chunk.unix_ns(&event.kind.fields[row], &values[row]));
        let Some(began) = began else { return true };
        match cpu_event {
            CpuEvent::Start => self.threads.entry(thread).or_default().from_ns = began,
            CpuEvent::Load => {
                let part = |name: &str| match field(name).map(|row| &values[row]) {
                    Some(Value::Float(part)) if (0.0..=1.0).contains(part) => *part,
                    _ => 0.0,
                };
                self.loads.push((thread, began, part("user") + part("system")));
            }
        }
        true
    }

    /// Adds the time of a sample that has its own period.
    pub fn add_sample(&mut self, thread: ThreadId, period_ns: Option<u64>, events: u64) {
        if let Some(ns) = period_ns {
            add(self.stated_ns.entry(thread).or_default(), ns.saturating_mul(events));
        }
    }

    /// Counts the loads of a chunk. A load covers the time since the load before, one period, or
    /// the thread's start, whichever is shortest.
    pub fn finish_chunk(&mut self, run_info: &RunInfo) {
        let period = run_info
            .periods
            .get("jdk.ThreadCPULoad")
            .map_or(DEFAULT_LOAD_PERIOD_NS, |period| period.least_ns);
        let period = i64::try_from(period).unwrap_or(i64::MAX);
        self.loads.sort_by_key(|(_, at, _)| *at);
        for (thread, at, share) in self.loads.drain(..) {
            let charged = self.threads.entry(thread).or_default();
            let from = charged.from_ns.max(run_info.from_ns).max(at.saturating_sub(period));
            charged.share_ns += share * float(u64::try_from(at.saturating_sub(from)).unwrap_or(0));
            charged.from_ns = charged.from_ns.max(at);
        }
    }

    /// Returns the CPU time of each thread for which the recording has loads and samples.
    pub fn times(&self, index: &RecordingIndex, run_info: &RunInfo) -> HashMap<ThreadId, ThreadCpuTime> {
        let mut times: HashMap<ThreadId, ThreadCpuTime> = HashMap::new();
        let is_not_cpu_time = |name: &str| kinds::is_wall(name) || run_info.may_not_be_cpu_time(name);
        let cpu = index.kinds.iter().filter(|(name, kind)| kind.samples && !is_not_cpu_time(name));
        let cpu: Vec<_> = cpu.filter_map(|(name, _)| Some((name, run_info.periods.get(name)?))).collect();
        let Some(processors) = run_info.processors().filter(|_| !cpu.is_empty()) else { return times };
        for (thread, charged) in self.threads.iter().filter(|(_, charged)| charged.share_ns > 0.0) {
            times.entry(*thread).or_default().cpu_ms = charged.share_ns / 1e6 * float(processors);
        }
        // Samples of two clocks cover the same time, so the larger sum counts.
        let mut by_clock: HashMap<(ThreadId, &str), (u64, f64)> = HashMap::new();
        for (name, period) in cpu {
            for (thread, count) in index.counts_of(name) {
                let (samples, ms) = by_clock.entry((thread, kinds::clock(name))).or_default();
                *samples = samples.saturating_add(count);
                *ms += millis(count.saturating_mul(period.least_ns));
            }
        }
        for ((thread, _), (samples, ms)) in by_clock {
            if let Some(time) = times.get_mut(&thread).filter(|time| time.sampled_ms <= ms) {
                (time.samples, time.sampled_ms) = (samples, ms);
            }
        }
        for (thread, ns) in &self.stated_ns {
            // The shortest period was counted for each sample so far.
            if let Some(time) = times.get_mut(thread) {
                time.sampled_ms = time.sampled_ms.max(millis(*ns));
            }
        }
        times
    }
}
