//! Measures wall-clock time: looks at each Java thread once per interval, and walks those that
//! wait.
//!
//! No thread is interrupted. If the CPU clock of a thread has not changed, the thread has not run,
//! so it waits where it waited before. A thread that has run and now waits is walked from outside.
//! The walk counts only if the thread's CPU clock did not change meanwhile.

mod system_call;

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use vouch_collect::jvm::Jvm;
use vouch_collect::record::Recorder;
use vouch_collect::record::wall_clock::WaitingThread;
use vouch_collect::record::wall_clock_times::WallClockTimes;
use vouch_collect::wall_clock::{Reading, WaitingAt, WatchedThread};
use vouch_hotspot::nmethods::CodeMemory;
use vouch_report::WallClockReport;
use vouch_sample::{Frame, Reason};
use vouch_signal::smoothed_cost::SmoothedCost;
use vouch_signal::thread_context::{ThreadContext, Trace};
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::hotspot::waiting::WaitingStack;
use vouch_unwind::walker::RawFrame;

use vouch_sampling::clock;
use vouch_sampling::threads::{JavaThread, registry};

/// The pause between two looks at a thread that goes on waiting grows to this many intervals.
const MAX_PAUSE: u32 = 10;
/// The time between two searches for new threads.
const SEARCH: Duration = Duration::from_millis(100);
/// Looking may take one part in this many of the time. Above that the interval becomes longer.
const COST_SHARE: u32 = 50;
/// The maximum number of frames of a stack.
const MAX_FRAMES: usize = 2_048;

/// A thread, and when it is looked at next.
#[derive(Debug)]
struct Looked {
    thread: JavaThread,
    watched: WatchedThread,
    /// The number of intervals until the next look, and the pause before that look.
    left: u32,
    pause: u32,
}

/// The wall-clock times of a recording's threads.
#[derive(Debug)]
pub struct WallClock {
    interval: Duration,
    walker: &'static HotspotWalker,
    threads: HashMap<u32, Looked>,
    next: Instant,
    next_search: Instant,
    cost: SmoothedCost,
    buffer: Vec<RawFrame>,
    looks: u64,
    /// The elapsed time of threads that have ended, and the part of it that they ran.
    ended: (u64, u64),
    /// True until the first search. Threads of the first search were there before.
    is_first: bool,
}

impl WallClock {
    pub fn begin(
        interval: Duration,
        walker: &'static HotspotWalker,
        recorder: &mut Recorder,
        sample_ns: u64,
    ) -> Self {
        recorder.wall_clock = Some(WallClockTimes::new(sample_ns));
        let now = Instant::now();
        Self {
            interval,
            walker,
            threads: HashMap::new(),
            next: now,
            next_search: now,
            cost: SmoothedCost::default(),
            buffer: vec![RawFrame::EMPTY; MAX_FRAMES + 1],
            looks: 0,
            ended: (0, 0),
            is_first: true,
        }
    }

    /// Returns the time until the next look.
    pub fn next(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks at the threads if that is due.
    pub fn look_if_due(&mut self, recorder: &mut Recorder, jvm: &mut dyn Jvm) {
        if Instant::now() < self.next {
            return;
        }
        let begun = clock::own_cpu();
        self.search_if_due();
        self.look(false, recorder, jvm);
        let took = Duration::from_nanos(self.cost.update(clock::own_cpu().saturating_sub(begun)));
        self.next = Instant::now() + self.interval.max(took * COST_SHARE);
    }

    /// Records the time of all threads up to now, also of waits that go on.
    pub fn flush(&mut self, recorder: &mut Recorder, jvm: &mut dyn Jvm) {
        self.look(true, recorder, jvm);
        self.end_period(recorder);
    }

    /// Ends a period: records in `recorder` the time up to each thread's last reading, from which
    /// the next period goes on.
    pub fn end_period(&mut self, recorder: &mut Recorder) {
        for (serial, looked) in &mut self.threads {
            for part in looked.watched.flush() {
                recorder.take_part(*serial, part);
            }
        }
    }

    /// Begins a period, which is recorded by `recorder`.
    pub fn begin_period(&mut self, recorder: &mut Recorder, sample_ns: u64) {
        recorder.wall_clock = Some(WallClockTimes::new(sample_ns));
        (self.looks, self.ended) = (0, (0, 0));
        for looked in self.threads.values_mut() {
            looked.watched.begin_period();
            (looked.left, looked.pause) = (0, 1);
        }
    }

    /// Returns the report of the times so far.
    pub fn report(&self, recorder: &Recorder) -> Option<WallClockReport> {
        let (mut elapsed, mut ran) = self.ended;
        for looked in self.threads.values() {
            let (more, run) = looked.watched.times();
            (elapsed, ran) = (elapsed + more, ran + run);
        }
        Some(recorder.wall_clock.as_ref()?.report(self.looks, elapsed, ran))
    }

    fn search_if_due(&mut self) {
        let now = Instant::now();
        if now < self.next_search {
            return;
        }
        self.next_search = now + SEARCH;
        let is_first = std::mem::take(&mut self.is_first);
        for thread in registry().sampled_java_threads() {
            self.threads.entry(thread.serial).or_insert_with(|| {
                // The time of a new thread counts from its start.
                let first = if is_first {
                    reading(thread.tid, clock::thread_cpu(thread.tid).unwrap_or(0), true)
                } else {
                    Reading { time: thread.started, cpu: thread.cpu_start, run_delay: Some(0) }
                };
                Looked { thread, watched: WatchedThread::new(first), left: 0, pause: 1 }
            });
        }
    }

    fn look(&mut self, is_last: bool, recorder: &mut Recorder, jvm: &mut dyn Jvm) {
        let Self { threads, walker, buffer, looks, ended, .. } = self;
        threads.retain(|serial, looked| {
            looked.left = looked.left.saturating_sub(1);
            if looked.left > 0 && !is_last {
                return true;
            }
            *looks += 1;
            let Looked { thread, watched, left, pause } = looked;
            let cpu =
                clock::thread_cpu(thread.tid).filter(|_| registry().slot(thread.tid, *serial).is_some());
            let Some(cpu) = cpu else {
                let end = registry().life(*serial, |life| Some((life.ended?, life.cpu_now)));
                if let Some((time, cpu)) = end.flatten() {
                    watched.end(time, cpu);
                }
                for part in watched.flush() {
                    recorder.take_part(*serial, part);
                }
                let (elapsed, ran) = watched.times();
                *ended = (ended.0 + elapsed, ended.1 + ran);
                return false;
            };
            let has_run = watched.has_run(cpu);
            for part in watched.read(reading(thread.tid, cpu, has_run)) {
                recorder.take_part(*serial, part);
            }
            if watched.needs_stack()
                && let Some(at) = waiting_at(walker, thread, cpu, buffer, recorder, jvm)
            {
                watched.found(at);
            }
            *pause = if has_run { 1 } else { (*pause * 2).min(MAX_PAUSE) };
            *left = *pause;
            true
        });
    }
}

/// Reads the clocks of a thread.
fn reading(tid: u32, cpu: u64, with_delay: bool) -> Reading {
    Reading { time: clock::monotonic(), cpu, run_delay: with_delay.then(|| run_delay(tid)).flatten() }
}

/// Returns the time for which a thread was ready to run and had no processor, in nanoseconds.
fn run_delay(tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Finds the stack at which a thread waits. Returns `None` if it has run since its CPU clock was
/// `cpu`, or if its stack cannot be walked.
fn waiting_at(
    walker: &'static HotspotWalker,
    thread: &JavaThread,
    cpu: u64,
    buffer: &mut [RawFrame],
    recorder: &mut Recorder,
    jvm: &mut dyn Jvm,
) -> Option<WaitingAt> {
    let JavaThread { tid, serial, .. } = *thread;
    for _ in 0..2 {
        let stack = walk(walker, thread, buffer)?;
        let frames: Vec<Frame> =
            buffer[..stack.count as usize].iter().map(|frame| Frame::from(*frame)).collect();
        let (context, trace) = context_of(thread);
        let waiting = WaitingThread {
            tid,
            serial,
            time: clock::monotonic(),
            frames: &frames,
            cut: stack.cut,
            is_entering_monitor: stack.is_entering_monitor,
            context,
            trace,
        };
        if clock::thread_cpu(tid) != Some(cpu) {
            return None;
        }
        if recorder.make_ids_of(&waiting, jvm) {
            continue;
        }
        let at = recorder.waiting_at(&waiting, || system_call::current(tid), jvm);
        return (clock::thread_cpu(tid) == Some(cpu)).then_some(at);
    }
    None
}

/// Returns the number of the context that the program has set for a thread that waits, and its
/// trace. The thread does not change them while it waits.
fn context_of(thread: &JavaThread) -> (u32, Trace) {
    let slot = registry().slot(thread.tid, thread.serial);
    let context = slot.and_then(|(slot, _)| slot.thread_context()).map(ThreadContext::read);
    context.map_or((0, Trace::default()), |(context, trace)| (context, trace.unwrap_or_default()))
}

/// Walks a thread that waits. Its end waits until the walk is over. Returns `None` if the thread is
/// in Java code, or if its stack cannot be walked.
fn walk(
    walker: &'static HotspotWalker,
    thread: &JavaThread,
    buffer: &mut [RawFrame],
) -> Option<WaitingStack> {
    let walked = registry().with_java_thread(thread.tid, thread.serial, |java_thread| {
        let memory = CodeMemory::new(&[], !walker.unguarded.load(Relaxed));
        walker.walk_waiting(&memory, java_thread, buffer)
    });
    match walked? {
        Ok(stack) => Some(stack),
        // A thread of the JVM's own, or one that has not begun to run Java.
        Err(Reason::NO_JAVA_FRAME) => Some(WaitingStack::default()),
        Err(_) => None,
    }
}
