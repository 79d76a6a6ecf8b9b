//! The governor: a separate thread that checks a few times a second what the engine costs this
//! machine.
//!
//! The expected cost is one timer interrupt for each stride of CPU time. The actual cost has three
//! measures. The governor measures the present cost of an interrupt on itself. It reads the
//! kernel's count of interrupts for each core. It records how late it gets the processor while the
//! process is mostly in the kernel. If the actual cost is too high, [`policy`] lengthens the
//! stride, then stops the engine, and the governor reports it. The governor pauses the engine for a
//! moment before it blames the engine for the machine's load.
//!
//! The governor has a separate thread because the agent's thread may resolve names or write for
//! seconds. It has the highest priority that it can get, because timer interrupts may leave a core
//! hardly any time. A longer stride needs no lock. The governor must never cost what it guards
//! against: while the program sleeps it only counts.

pub mod act;
mod budget;
mod look;
pub mod policy;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vouch_signal::sampler::STRIDE;

use crate::clock;
use crate::engine::Engine;
use crate::engine::choose::EngineWish;
use crate::engine::cost::Meter;
use crate::own_thread::{self, Blocked, OwnThread};
use crate::services::services;
use crate::threads::registry;
use act::Act;
use budget::Budget;
use look::Look;
use policy::{Order, Policy, Seen};

/// The minimum time between two looks; longer if a look takes long.
const LOOK: Duration = Duration::from_millis(300);
/// A look may take one part in this many of the time.
const LOOK_SHARE: u32 = 500;
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// How long the engine pauses to find the cause of a storm. A storm has thousands of interrupts in
/// that time. Each thread's next sample covers the CPU time that the thread used meanwhile.
const REST: Duration = Duration::from_millis(50);
/// How many looks are taken during a pause.
const GLANCES: u32 = 5;
/// One look in this many measures the cost of an interrupt, from `INTERRUPTS` interrupts.
const MEASURE: u32 = 4;
const INTERRUPTS: usize = 5;
/// A program that uses less than this part of a core is not checked.
const IDLE: f64 = 0.05;

/// What the governor keeps to in a recording.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub interval: Duration,
    /// How many intervals one signal covers at the start.
    pub stride: u32,
    /// The cost of one of the engine's interrupts, if it was measured.
    pub cost: Option<Duration>,
    pub wish: EngineWish,
    /// The part of the program's CPU time that sampling may take, if it is limited.
    pub budget: Option<f64>,
    /// The CPU time of sampling that is free of the budget.
    pub free: Duration,
}

/// What the governor needs for the recording that runs.
#[derive(Debug)]
struct Task {
    policy: Policy,
    interval: Duration,
    user_only: bool,
}

/// The state of the governor's thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ThreadState {
    #[default]
    Missing,
    Runs,
    /// The JVM has ended, so the thread must end.
    Leaves,
}

/// The governor's shared state.
#[derive(Debug, Default)]
struct Desk {
    task: Option<Task>,
    /// The time since which the engine pauses, in nanoseconds.
    paused: Option<u64>,
    thread: ThreadState,
    /// True if the engine of the present or last recording was stopped.
    stopped: bool,
    /// The governor's actions in the present or last recording, as sentences for the user.
    notes: Vec<String>,
    /// The notes that the summary begins with.
    warnings: Vec<String>,
    /// True once this recording has reported that other processes load the machine.
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

/// Begins to govern a recording with this engine. `None` means that it has no engine.
pub fn begin(engine: Option<Engine>, terms: &Terms) {
    let Terms { interval, stride, cost, wish, budget, free } = *terms;
    let mut desk = DESK.lock();
    desk.notes.clear();
    desk.warnings.clear();
    desk.stopped = false;
    desk.said_others = false;
    desk.paused = None;
    let Some(engine @ Engine::Perf { .. }) = engine else {
        STRIDE.store(1, Ordering::Relaxed);
        return;
    };
    let user_only = engine.user_only();
    STRIDE.store(stride, Ordering::Relaxed);
    // A timer sees kernel time, which no sample may include if perf does not see it. A user who
    // asks for perf keeps perf.
    let timers = wish == EngineWish::Auto && !user_only;
    let budget = budget.map(|part| Budget::new(part, timers, free));
    let policy = Policy::new(interval, stride, cost, budget);
    desk.task = Some(Task { policy, interval, user_only });
    let is_first = desk.thread == ThreadState::Missing;
    if is_first {
        // Without a thread for the governor the machine has other problems, and the profile stays
        // valid.
        let thread = std::thread::Builder::new().name("Vouch governor".to_owned()).stack_size(1 << 18);
        if thread.spawn(|| services().run_guarded(Box::new(body))).is_ok() {
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

/// Ends the governing when the recording has ended. The actions can still be read.
pub fn end() {
    let mut desk = DESK.lock();
    desk.task = None;
    if let Some(began) = desk.paused.take() {
        services().publish(Act::Paused { began, ended: clock::monotonic() });
    }
    drop(desk);
    CALL.notify_all();
}

/// Ends the governor's thread, whatever it waits for. Returns false if the thread does not end
/// soon.
pub fn leave() -> bool {
    THREAD.end_by(|| {
        let mut desk = DESK.lock();
        desk.task = None;
        desk.thread = ThreadState::Leaves;
        drop(desk);
        CALL.notify_all();
    })
}

/// Stops the engine of the present recording early, and reports why, once.
pub fn stop(why: &str) {
    let mut desk = DESK.lock();
    if desk.stopped {
        return;
    }
    let now = clock::monotonic();
    if let Some(began) = desk.paused.take() {
        services().publish(Act::Paused { began, ended: now });
    }
    let line = end_of_sampling(&mut desk, now, why);
    drop(desk);
    services().say(&line);
}

/// Records the end of sampling, and returns the message about it.
fn end_of_sampling(desk: &mut Desk, now: u64, why: &str) -> String {
    desk.task = None;
    desk.stopped = true;
    registry().end_sampling();
    services().publish(Act::Stopped { at: now });
    let line = format!("the engine is stopped, and what the program does from here on is not sampled: {why}");
    desk.warnings.push(line.clone());
    desk.notes.push(line.clone());
    line
}

/// The state of the engine of the present or last recording.
#[derive(Debug)]
pub struct Story {
    /// How many intervals one signal covers.
    pub stride: u32,
    /// True if the engine was stopped early.
    pub stopped: bool,
    /// The governor's actions.
    pub notes: Vec<String>,
    /// The notes that the summary begins with.
    pub warnings: Vec<String>,
}

/// Returns the engine's state; see [`Story`].
pub fn story() -> Story {
    let desk = DESK.lock();
    Story {
        stride: STRIDE.load(Ordering::Relaxed),
        stopped: desk.stopped,
        notes: desk.notes.clone(),
        warnings: desk.warnings.clone(),
    }
}

/// Returns the CPU time that the governor has used, in nanoseconds.
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

/// Takes looks until the recording ends.
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

/// Waits for `pause`. Returns false as soon as there is nothing to govern any more.
fn pauses(pause: Duration) -> bool {
    let until = Instant::now() + pause;
    let mut desk = DESK.lock();
    while desk.task.is_some() && !CALL.wait_until(&mut desk, until).timed_out() {}
    desk.task.is_some()
}

/// Looks at the machine while the engine pauses. It keeps each core's highest rate of several short
/// looks. A host may take a core away for a moment. That core then has no interrupts, and the
/// storm would seem to be over.
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

/// The step that follows an act.
enum Next {
    /// Another look, some time later.
    Look,
    /// The engine pauses. A look without the engine follows, and a verdict.
    Verdict,
    /// The recording needs no more governing.
    Nothing,
}

/// Executes the policy's order.
fn act(seen: &Seen) -> Next {
    let mut desk = DESK.lock();
    let Some(task) = &mut desk.task else { return Next::Nothing };
    let interval = task.interval;
    let Some(order) = task.policy.judge(seen) else { return Next::Look };
    // The desk stays locked throughout, so that the order applies to this recording's engine and
    // not to the next one's.
    let now = clock::monotonic();
    let paused = std::mem::replace(&mut desk.paused, matches!(order, Order::Pause).then_some(now));
    if let Some(began) = paused {
        services().publish(Act::Paused { began, ended: now });
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
            services().say(&line);
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
            services().publish(Act::Lengthened { at: now, period_ns: clock::nanos(interval * stride) });
            format!("sampling every {} of CPU time from here on: {why}", policy::micros(interval * stride))
        }
        Order::Relieve { why } => {
            registry().relieve();
            services().publish(Act::Relieved { at: now });
            // Timers have no separate interrupts.
            desk.task = None;
            next = Next::Nothing;
            format!("sampling by timers from here on: {why}")
        }
    };
    desk.notes.push(line.clone());
    drop(desk);
    services().say(&line);
    next
}
