//! What CPU time a recording says that its threads had, beside what its samples stand for: time
//! that no sample tells of is a gap.
//!
//! It must never take a load for time that its thread did not live.

use foldhash::{HashMap, HashMapExt};
use vouch_jfr::{Chunk, Event, Type, Value};
use vouch_report::{float, millis};

use crate::index::{Seen, ThreadId, add};
use crate::kinds;
use crate::run_info::Told;

/// Flight Recorder's own, where its settings do not say.
const PERIOD_NS: u64 = 10_000_000_000;
/// Less is no gap,
const LEAST_MS: f64 = 100.0;
/// nor is one in which samples tell of half of the time, with what they may be off by: so many
/// times their own spread.
const HALF: f64 = 0.5;
const SPREADS: f64 = 4.0;

/// A kind of events that tells something of threads' CPU time.
#[derive(Debug, Clone, Copy)]
pub enum Tells {
    /// How much of the machine a thread had of late.
    Load,
    /// That a thread began.
    Start,
}

impl Tells {
    pub fn of(kind: &Type) -> Option<Self> {
        match kind.name.as_str() {
            "jdk.ThreadCPULoad" => Some(Self::Load),
            "jdk.ThreadStart" => Some(Self::Start),
            _ => None,
        }
    }

    /// In which field the thread is.
    pub fn thread(self) -> &'static str {
        match self {
            Self::Load => "eventThread",
            Self::Start => "thread",
        }
    }
}

/// What was told of the CPU time of threads.
#[derive(Debug, Default)]
pub struct Cpu {
    threads: HashMap<ThreadId, Charged>,
    /// Loads of the chunk at hand, of which the order is not that of time: thread, time since 1970,
    /// share of the machine.
    loads: Vec<(ThreadId, i64, f64)>,
    /// What samples stand for that say so themselves.
    stated: HashMap<ThreadId, u64>,
}

/// Of a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Charged {
    /// When it began, if that was told, and up to when its time is known.
    from_ns: i64,
    /// So many nanoseconds of all processors.
    share_ns: f64,
}

/// A thread's CPU time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Time {
    /// As the recording's own events have it.
    pub cpu_ms: f64,
    /// As its samples have it, and how many these are.
    pub sampled_ms: f64,
    samples: u64,
}

impl Time {
    /// What no sample tells of, if it is more than chance.
    pub fn gap_ms(self) -> Option<f64> {
        let Self { cpu_ms, sampled_ms, samples } = self;
        let each = sampled_ms / float(samples.max(1));
        let at_most = sampled_ms + SPREADS * each * float(samples + 1).sqrt();
        (cpu_ms >= LEAST_MS && at_most < HALF * cpu_ms).then_some(cpu_ms - sampled_ms)
    }
}

impl Cpu {
    /// Takes in what an event tells of a thread. False: it cannot be read.
    pub fn event(&mut self, tells: Tells, chunk: &Chunk, event: &Event<'_>, thread: ThreadId) -> bool {
        let Ok(values) = event.values() else { return false };
        let field = |name: &str| event.kind.field(name);
        let began = field("startTime").and_then(|row| chunk.unix_ns(&event.kind.fields[row], &values[row]));
        let Some(began) = began else { return true };
        match tells {
            Tells::Start => self.threads.entry(thread).or_default().from_ns = began,
            Tells::Load => {
                let part = |name: &str| match field(name).map(|row| &values[row]) {
                    Some(Value::Number(part)) if (0.0..=1.0).contains(part) => *part,
                    _ => 0.0,
                };
                self.loads.push((thread, began, part("user") + part("system")));
            }
        }
        true
    }

    /// A sample stands for so much of a thread's time.
    pub fn sample(&mut self, thread: ThreadId, period_ns: Option<u64>, events: u64) {
        if let Some(ns) = period_ns {
            add(self.stated.entry(thread).or_default(), ns.saturating_mul(events));
        }
    }

    /// The chunk is over: a load is that since the last time that there could have been one, or
    /// since the thread began.
    pub fn chunk_ends(&mut self, told: &Told) {
        let period = told.periods.get("jdk.ThreadCPULoad").map_or(PERIOD_NS, |period| period.least_ns);
        let period = i64::try_from(period).unwrap_or(i64::MAX);
        self.loads.sort_by_key(|(_, at, _)| *at);
        for (thread, at, share) in self.loads.drain(..) {
            let charged = self.threads.entry(thread).or_default();
            let from = charged.from_ns.max(told.from_ns).max(at.saturating_sub(period));
            charged.share_ns += share * float(u64::try_from(at.saturating_sub(from)).unwrap_or(0));
            charged.from_ns = charged.from_ns.max(at);
        }
    }

    /// The CPU time of each thread of which both are told: by its events, and by its samples.
    pub fn times(&self, seen: &Seen, told: &Told) -> HashMap<ThreadId, Time> {
        let mut times: HashMap<ThreadId, Time> = HashMap::new();
        let other = |name: &str| kinds::is_wall(name) || told.may_be_no_cpu_time(name);
        let cpu = seen.kinds.iter().filter(|(name, kind)| kind.samples && !other(name));
        let cpu: Vec<_> = cpu.filter_map(|(name, _)| Some((name, told.periods.get(name)?))).collect();
        let Some(processors) = told.processors().filter(|_| !cpu.is_empty()) else { return times };
        for (thread, charged) in self.threads.iter().filter(|(_, charged)| charged.share_ns > 0.0) {
            times.entry(*thread).or_default().cpu_ms = charged.share_ns / 1e6 * float(processors);
        }
        // What two clocks tell of the same time is not twice as much: the one counts that tells
        // more.
        let mut by_clock: HashMap<(ThreadId, &str), (u64, f64)> = HashMap::new();
        for (name, period) in cpu {
            for (thread, count) in seen.counts_of(name) {
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
        for (thread, ns) in &self.stated {
            // The shortest period was counted for each of them.
            if let Some(time) = times.get_mut(thread) {
                time.sampled_ms = time.sampled_ms.max(millis(*ns));
            }
        }
        times
    }
}
