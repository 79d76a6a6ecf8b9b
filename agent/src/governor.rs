//! The governor: a thread of its own that looks, a few times a second, what the engine costs this
//! machine.
//!
//! What it should cost: a timer interrupt for each stride of CPU time. What it does cost: what an
//! interrupt takes now, measured on the governor itself; the interrupts that the kernel counts for
//! each core; and how late the governor gets the processor while the process is in the kernel most
//! of its time. Where the two part, [`policy`] lengthens the stride, then stops the engine, and it
//! is said. Before the engine is blamed for what the machine suffers from, it pauses for a moment.
//!
//! It has a thread to itself since the agent's may be naming or writing for seconds, and the
//! highest priority that it can get: where the timer interrupts leave a core hardly any time, the
//! little must be its. A longer stride needs no lock. It must never cost what it guards against:
//! while the program sleeps it only counts.

pub mod acts;
mod budget;
pub mod policy;

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vouch_report::float;
use vouch_signal::handler_cost::HANDLER_COST;
use vouch_signal::sampler::STRIDE;

use crate::clock::{self, seconds};
use crate::engine::Engine;
use crate::engine::cost::Meter;
use crate::fault::guard;
use crate::options::choices::EngineWish;
use crate::own_thread::{self, Blocked, OwnThread};
use crate::plan::Plan;
use crate::say::say;
use crate::threads::registry;
use budget::{Budget, Spent};
use policy::{Order, Policy, Seen};

use acts::{LENGTHENED, PAUSED, RELIEVED, STOPPED};

/// The time between two looks, at least; longer where a look takes long.
const LOOK: Duration = Duration::from_millis(300);
/// A look may take this part of the time.
const LOOK_SHARE: u32 = 500;
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// How long the engine pauses while it is asked whose doing something is: a storm is thousands of
/// interrupts in that time, and each thread's next sample stands for what it ran meanwhile.
const REST: Duration = Duration::from_millis(50);
/// How many looks are taken of it.
const GLANCES: u32 = 5;
/// A look that comes so much later than it should is late.
const LATE: Duration = Duration::from_secs(1);
/// The cost of an interrupt is measured in one look of so many, from so many interrupts.
const MEASURE: u32 = 4;
const INTERRUPTS: usize = 5;
/// In a storm of interrupts the process has at least this part of all cores, and this part of that
/// for the kernel's work: a container that is throttled, or a machine that others fill, answers
/// late for other reasons.
const STORM: f64 = 0.5;
/// A program that uses less than this part of a core is not looked at.
const IDLE: f64 = 0.05;

/// What the recording that runs is governed by.
#[derive(Debug)]
struct Task {
    policy: Policy,
    interval: Duration,
    user_only: bool,
}

/// How far the governor's thread has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ThreadState {
    #[default]
    Missing,
    Runs,
    /// The JVM is gone: the thread must end.
    Leaves,
}

/// The governor's desk.
#[derive(Debug, Default)]
struct Desk {
    task: Option<Task>,
    /// Since when the engine pauses.
    paused: Option<u64>,
    thread: ThreadState,
    /// The engine of the present recording, or the last, was stopped.
    stopped: bool,
    /// What was done in the present recording, or the last, as a person should know it.
    notes: Vec<String>,
    /// Those of the notes that the summary begins with.
    warnings: Vec<String>,
    /// It has been said in this recording that others make the machine suffer.
    said_others: bool,
}

static DESK: Mutex<Desk> = Mutex::new(Desk {
    task: None,
    paused: None,
    thread: ThreadState::Missing,
    stopped: false,
    notes: Vec::new(),
    warnings: Vec::new(),
    said_others: false,
});
static CALL: Condvar = Condvar::new();
static THREAD: OwnThread = OwnThread::new();

/// A recording begins, as it was planned, with this engine. `None`: with none.
pub fn begin(engine: Option<Engine>, plan: &Plan) {
    let mut desk = DESK.lock();
    desk.notes.clear();
    desk.warnings.clear();
    desk.stopped = false;
    desk.said_others = false;
    desk.paused = None;
    let Some(Engine::Perf { user_only }) = engine else {
        STRIDE.store(1, Ordering::Relaxed);
        return;
    };
    STRIDE.store(plan.stride, Ordering::Relaxed);
    let interval = plan.options.interval;
    // A timer sees the kernel's time, which belongs to no sample where perf is blind for it; and
    // who asks for perf gets it.
    let timers = plan.options.engine == EngineWish::Auto && !user_only;
    let budget = plan.options.budget.map(|part| Budget::new(part, timers, plan.options.free));
    let policy = Policy::new(interval, plan.stride, plan.choice.cost, budget);
    desk.task = Some(Task { policy, interval, user_only });
    let is_first = desk.thread == ThreadState::Missing;
    if is_first {
        // Without a thread for it the machine has other troubles; the profile is as good.
        let thread = std::thread::Builder::new().name("Vouch governor".to_owned()).stack_size(1 << 18);
        if thread.spawn(|| guard((), body)).is_ok() {
            desk.thread = ThreadState::Runs;
        }
    }
    let is_to_come = is_first && desk.thread == ThreadState::Runs;
    drop(desk);
    CALL.notify_all();
    if is_to_come {
        THREAD.await_begin();
    }
}

/// The recording has ended: there is nothing to govern any more. What was done can still be asked
/// for.
pub fn end() {
    let mut desk = DESK.lock();
    desk.task = None;
    if let Some(began) = desk.paused.take() {
        PAUSED.happened(began, clock::monotonic(), [], "");
    }
    drop(desk);
    CALL.notify_all();
}

/// Ends the governor's thread, whatever it waits for; false if it does not end soon.
pub fn leave() -> bool {
    THREAD.end_by(|| {
        let mut desk = DESK.lock();
        desk.task = None;
        desk.thread = ThreadState::Leaves;
        drop(desk);
        CALL.notify_all();
    })
}

/// Stops the engine of the present recording before its time, and says why; once.
pub fn stop(why: &str) {
    let mut desk = DESK.lock();
    if desk.stopped {
        return;
    }
    let now = clock::monotonic();
    if let Some(began) = desk.paused.take() {
        PAUSED.happened(began, now, [], "");
    }
    let line = end_of_sampling(&mut desk, now, why);
    drop(desk);
    say(&line);
}

/// From here on nothing is sampled; what there is to say of it.
fn end_of_sampling(desk: &mut Desk, now: u64, why: &str) -> String {
    desk.task = None;
    desk.stopped = true;
    registry().end_sampling();
    STOPPED.happened(now, now, [], "");
    let line = format!("the engine is stopped, and what the program does from here on is not sampled: {why}");
    desk.warnings.push(line.clone());
    desk.notes.push(line.clone());
    line
}

/// How it stands with the engine of the present recording, or the last.
#[derive(Debug)]
pub struct Story {
    /// How many intervals a signal stands for.
    pub stride: u32,
    /// It was stopped before its time.
    pub stopped: bool,
    /// What was done about it.
    pub notes: Vec<String>,
    /// Those of the notes that the summary begins with.
    pub warnings: Vec<String>,
}

/// See [`Story`].
pub fn story() -> Story {
    let desk = DESK.lock();
    Story {
        stride: STRIDE.load(Ordering::Relaxed),
        stopped: desk.stopped,
        notes: desk.notes.clone(),
        warnings: desk.warnings.clone(),
    }
}

/// The CPU time that the governor has had, in nanoseconds.
pub fn cpu() -> u64 {
    THREAD.cpu()
}

fn body() {
    let _running = THREAD.begin(Blocked::All);
    own_thread::take_priority();
    loop {
        let mut desk = DESK.lock();
        while desk.task.is_none() {
            if desk.thread == ThreadState::Leaves {
                return;
            }
            CALL.wait(&mut desk);
        }
        let user_only = desk.task.as_ref().is_some_and(|task| task.user_only);
        drop(desk);
        govern(Meter::new(user_only).as_ref());
    }
}

/// Looks until the recording ends.
fn govern(meter: Option<&Meter>) {
    let mut before = Look::now();
    let mut pause = LOOK;
    let mut number = 0_u32;
    loop {
        if !pauses(pause) {
            return;
        }
        let begun = Instant::now();
        let now = Look::now();
        let mut seen = now.since(&before);
        seen.late = now.is_late(&before, pause);
        let busy = now.busy_since(&before) > IDLE;
        if busy && number.is_multiple_of(MEASURE) {
            seen.cost = meter.and_then(|meter| meter.measure(INTERRUPTS));
        }
        number = number.wrapping_add(1);
        before = now;
        pause = (begun.elapsed() * LOOK_SHARE).clamp(LOOK, LONGEST_LOOK);
        let mut next = if busy { act(&seen) } else { Next::Look };
        if matches!(next, Next::Verdict) {
            next = act(&look_at_rest());
            before = Look::now();
        }
        if matches!(next, Next::Nothing) {
            return;
        }
    }
}

/// Waits that long; false as soon as there is nothing to govern any more.
fn pauses(pause: Duration) -> bool {
    let until = Instant::now() + pause;
    let mut desk = DESK.lock();
    while desk.task.is_some() && !CALL.wait_until(&mut desk, until).timed_out() {}
    desk.task.is_some()
}

/// What is seen while the engine pauses: of each core the most interrupts of several short looks,
/// since a core that a host takes away for a moment has none meanwhile, and what others do would
/// seem to be over.
fn look_at_rest() -> Seen {
    let mut looks = vec![Look::now()];
    for _ in 0..GLANCES {
        std::thread::sleep(REST / GLANCES);
        looks.push(Look::now());
    }
    let rates = looks.windows(2).map(|pair| pair[1].since(&pair[0]).interrupts);
    let most = rates.reduce(|most, rates| most.into_iter().zip(rates).map(|(a, b)| a.max(b)).collect());
    let (first, last) = (&looks[0], &looks[looks.len() - 1]);
    Seen { late: last.is_late(first, REST), interrupts: most.unwrap_or_default(), ..last.since(first) }
}

/// What comes after an act.
enum Next {
    /// A look, some time later.
    Look,
    /// The engine pauses: a look at what goes on without it, and a verdict.
    Verdict,
    /// Nothing is left to govern.
    Nothing,
}

/// Does what the policy says.
fn act(seen: &Seen) -> Next {
    let mut desk = DESK.lock();
    let Some(task) = &mut desk.task else { return Next::Nothing };
    let interval = task.interval;
    let Some(order) = task.policy.judge(seen) else { return Next::Look };
    // All of it with the desk locked, so that it is this recording's engine and not the next one's.
    let now = clock::monotonic();
    let paused = std::mem::replace(&mut desk.paused, matches!(order, Order::Pause).then_some(now));
    if let Some(began) = paused {
        PAUSED.happened(began, now, [], "");
    }
    let mut next = Next::Look;
    let line = match order {
        Order::Pause => {
            registry().pause();
            return Next::Verdict;
        }
        Order::Stop { why } => {
            let line = end_of_sampling(&mut desk, now, &why);
            drop(desk);
            say(&line);
            return Next::Nothing;
        }
        Order::GoOn { why } => {
            registry().resume();
            if std::mem::replace(&mut desk.said_others, true) {
                return Next::Look;
            }
            format!("sampling goes on, after a pause of {}: {why}", policy::micros(REST))
        }
        Order::Lengthen { stride, why } => {
            STRIDE.store(stride, Ordering::Relaxed);
            registry().lengthen();
            registry().resume();
            LENGTHENED.happened(now, now, [clock::nanos(interval * stride)], "");
            format!("sampling every {} of CPU time from here on: {why}", policy::micros(interval * stride))
        }
        Order::Relieve { why } => {
            registry().relieve();
            RELIEVED.happened(now, now, [], "");
            // Timers have no interrupts of their own.
            desk.task = None;
            next = Next::Nothing;
            format!("sampling by timers from here on: {why}")
        }
    };
    desk.notes.push(line.clone());
    drop(desk);
    say(&line);
    next
}

/// The machine and the process at one moment.
struct Look {
    wall: Instant,
    process_cpu: u64,
    system: u64,
    switches: u64,
    /// Signals, and the nanoseconds that their handlers took.
    sampling: (u64, u64),
    /// Timer interrupts of each core since it was started.
    interrupts: Vec<u64>,
}

impl Look {
    fn now() -> Self {
        let usage = clock::usage();
        Self {
            wall: Instant::now(),
            process_cpu: clock::process_cpu(),
            system: nanos(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw).cast_unsigned(),
            sampling: HANDLER_COST.totals(),
            interrupts: timer_interrupts(&fs::read_to_string("/proc/interrupts").unwrap_or_default()),
        }
    }

    fn since(&self, before: &Self) -> Seen {
        let wall = self.wall.duration_since(before.wall).as_secs_f64();
        let rate = |now: u64, before: u64| float(now.saturating_sub(before)) / wall;
        let cores = self.interrupts.iter().zip(&before.interrupts);
        Seen {
            interrupts: cores.map(|(now, before)| rate(*now, *before)).collect(),
            switches: rate(self.switches, before.switches),
            spent: self.spent_since(before),
            ..Seen::default()
        }
    }

    fn spent_since(&self, before: &Self) -> Spent {
        let (signals, handlers) = self.sampling;
        Spent {
            cpu: Duration::from_nanos(self.process_cpu.saturating_sub(before.process_cpu)),
            handlers: Duration::from_nanos(handlers - before.sampling.1),
            signals: signals - before.sampling.0,
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    /// True if it comes much later than `pause` after the one before, for what the process does in
    /// the kernel.
    fn is_late(&self, before: &Self, pause: Duration) -> bool {
        self.wall.duration_since(before.wall) > pause + LATE && self.stormed_since(before)
    }

    /// True if the process was mostly in the kernel since then, on many cores.
    fn stormed_since(&self, before: &Self) -> bool {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cpu = float(self.process_cpu.saturating_sub(before.process_cpu));
        let all = self.busy_since(before) > STORM * float(cores as u64);
        all && float(self.system.saturating_sub(before.system)) > STORM * cpu
    }

    /// Cores that the process has used since then.
    fn busy_since(&self, before: &Self) -> f64 {
        let wall = self.wall.duration_since(before.wall).as_secs_f64();
        seconds(self.process_cpu.saturating_sub(before.process_cpu)) / wall
    }
}

/// The counts of the line that x86 has for its local timers; none where there is no such line.
fn timer_interrupts(table: &str) -> Vec<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix("LOC:")).unwrap_or_default();
    line.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

fn nanos(time: libc::timeval) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_tells_each_cores_timer_interrupts() {
        let table = "           CPU0       CPU1\n  0:  9  0  IO-APIC  timer\nLOC:     265326     270211   Local timer interrupts\n";
        assert_eq!(timer_interrupts(table), [265_326, 270_211]);
        assert!(timer_interrupts("  11:  5  6  GICv3  arch_timer\n").is_empty());
    }
}
