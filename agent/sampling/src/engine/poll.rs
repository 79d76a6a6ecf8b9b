//! Pollers: threads that check at random times which of the program's threads have a processor, and
//! signal those.
//!
//! Pollers need nothing that a container forbids, and do not depend on the kernel tick. The chance
//! to find a thread running is proportional to its running time, however short each run is. A
//! sample therefore counts for the elapsed time since the last look. A thread runs if its CPU clock
//! moves between two readings. No other thread runs on the poller's own processor. With two to four
//! processors each has its poller, which sees the others; with more, one poller suffices.
//!
//! A poller must never signal a thread that sleeps, because that would interrupt its system call.
//! If the kernel is not preemptible, a poller wakes when the thread on its processor leaves the
//! kernel. Threads that hand work to each other every few microseconds are therefore sampled
//! unevenly over their code.

mod watch_list;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::{Duration, Instant};

use fastrand::Rng;
use once_cell::sync::Lazy;
use parking_lot::Mutex;

use self::watch_list::{WatchList, Watched};
use super::own_cpu::add_cpu;
use super::queue;
use crate::clock;
use crate::error::Obstacle;
use crate::own_thread::{self, Blocked, OwnThread};
use crate::services::services;

/// The maximum number of processors with a poller on each.
const MAX_PINNED: usize = 4;
/// All looks together take at most one part in this many of a processor.
const COST_SHARE: u64 = 50;
/// The cost of a look is smoothed over this many looks.
const SMOOTHING: u64 = 16;
/// A thread that ends has by chance too few or too many samples. A total below this many intervals,
/// over all threads, is not reported as a loss.
const MAX_BALANCE: i64 = 64;
/// The same limit for one thread, in intervals.
const MAX_THREAD_BALANCE: i64 = 16;

/// The pollers that are running.
static POLLERS: Mutex<Vec<Poller>> = Mutex::new(Vec::new());
static THREADS: [OwnThread; MAX_PINNED] = [const { OwnThread::new() }; MAX_PINNED];
static WATCHED: Lazy<Mutex<WatchList>> = Lazy::new(Mutex::default);
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
/// Intervals for which ended threads ran without a sample.
static BALANCE: AtomicI64 = AtomicI64::new(0);

#[derive(Debug)]
struct Poller {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// A handle of a sampled thread. Pollers look at the thread until it is dropped.
#[derive(Debug)]
pub struct Watch {
    tid: u32,
    number: u64,
}

impl Watch {
    pub fn new(tid: u32) -> Self {
        let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed);
        WATCHED.lock().insert(Watched::new(tid, number, clock::thread_cpu(tid).unwrap_or(0)));
        Self { tid, number }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.lock().remove(self.tid, Some(self.number));
    }
}

/// Returns why pollers cannot work here, or `None` if they can.
pub fn obstacle() -> Option<Obstacle> {
    (processors().len() < 2).then_some(Obstacle::OneProcessor)
}

/// Starts the pollers.
pub fn start(interval: Duration) -> io::Result<()> {
    BALANCE.store(0, Ordering::Relaxed);
    let processors = processors();
    let pinned: Vec<Option<usize>> = match processors.len() {
        2..=MAX_PINNED => processors.into_iter().map(Some).collect(),
        _ => vec![None],
    };
    let count = pinned.len();
    for (processor, own) in pinned.into_iter().zip(&THREADS) {
        let ending = Arc::new(AtomicBool::new(false));
        let its = Arc::clone(&ending);
        let plan = Plan { interval: clock::nanos(interval).max(1), count: count as u64, processor };
        let made = Builder::new()
            .name("Vouch poller".to_owned())
            .spawn(move || services().run_guarded(Box::new(|| body(own, &plan, &its))));
        match made {
            Ok(thread) => POLLERS.lock().push(Poller { ending, thread }),
            Err(error) => {
                stop();
                return Err(error);
            }
        }
        own.await_begin();
    }
    Ok(())
}

/// Stops the pollers. They send no more signals once this returns.
pub fn stop() {
    let pollers = std::mem::take(&mut *POLLERS.lock());
    for Poller { ending, thread } in &pollers {
        ending.store(true, Ordering::Relaxed);
        thread.thread().unpark();
    }
    for Poller { thread, .. } in pollers {
        // Its guard has reported a panic.
        let _ = thread.join();
    }
}

/// Settles a thread that ran for `balance` intervals more, or fewer, than its samples cover.
/// Returns for how many of them a sample without a stack is needed. The pool of all threads hides
/// at most `MAX_THREAD_BALANCE` intervals of one thread.
pub fn settle(balance: i64) -> u32 {
    let all = BALANCE.fetch_add(balance, Ordering::Relaxed).saturating_add(balance);
    let lost = all.saturating_sub(MAX_BALANCE).min(balance).max(balance - MAX_THREAD_BALANCE).max(0);
    BALANCE.fetch_sub(lost, Ordering::Relaxed);
    u32::try_from(lost).unwrap_or(u32::MAX)
}

/// Returns the processors that this process may use.
fn processors() -> Vec<usize> {
    // SAFETY: all zero is a valid set, which the call writes.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        set
    };
    let most = 8 * size_of_val(&set);
    // SAFETY: reads a bit of the set, which has that many.
    (0..most).filter(|processor| unsafe { libc::CPU_ISSET(*processor, &set) }).collect()
}

/// Keeps the calling thread on one processor. If the kernel refuses, the poller runs on any, and
/// some threads are seen less often.
fn pin(processor: usize) {
    // SAFETY: all zero is a valid set, and the kernel reported this number in such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// The parameters of a poller.
struct Plan {
    /// The interval in nanoseconds.
    interval: u64,
    /// How many pollers run.
    count: u64,
    processor: Option<usize>,
}

fn body(own: &'static OwnThread, plan: &Plan, ending: &AtomicBool) {
    let _running = own.begin(Blocked::All);
    if let Some(processor) = plan.processor {
        pin(processor);
    }
    own_thread::take_priority();
    let mut random = Rng::with_seed(clock::epoch() ^ u64::from(clock::own_tid()));
    let (mut cost, mut looked, mut unspent) = (0_u64, clock::monotonic(), 0);
    let mut before = clock::own_cpu();
    add_cpu(before);
    loop {
        let period = plan.interval.max(cost.saturating_mul(COST_SHARE)).saturating_mul(plan.count);
        rest(period / 2 + random.u64(0..period), ending);
        if ending.load(Ordering::Relaxed) {
            return;
        }
        let now = clock::monotonic();
        // All pollers but the one on its own processor see a thread.
        unspent += now.saturating_sub(looked) / (plan.count - 1).max(1);
        looked = now;
        look(unspent / plan.interval, random.u64(..));
        unspent %= plan.interval;
        let after = clock::own_cpu();
        let took = after.saturating_sub(before);
        add_cpu(took);
        cost = (cost * (SMOOTHING - 1) + took) / SMOOTHING;
        before = after;
    }
}

/// Sleeps for this many nanoseconds, or until the pollers end.
fn rest(nanos: u64, ending: &AtomicBool) {
    let until = Instant::now() + Duration::from_nanos(nanos);
    while !ending.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        park_timeout(left);
    }
}

/// Signals the threads that have a processor. Their samples weigh this many intervals.
fn look(weight: u64, draw: u64) {
    let weight = u32::try_from(weight).unwrap_or(u32::MAX);
    WATCHED.lock().look(draw, |watched, factor| {
        let Some(cpu) = clock::thread_cpu(watched.tid) else { return false };
        let has_run = cpu != watched.cpu;
        watched.cpu = cpu;
        if weight > 0 && has_run && clock::thread_cpu(watched.tid).is_some_and(|now| now != cpu) {
            found(watched.tid, weight.saturating_mul(factor));
        }
        has_run
    });
}

/// Signals a thread that has a processor. If ended threads had too many samples, the signal is
/// left out to compensate.
fn found(tid: u32, weight: u32) {
    if BALANCE.load(Ordering::Relaxed) < -MAX_BALANCE {
        BALANCE.fetch_add(weight.into(), Ordering::Relaxed);
    } else {
        queue::signal(tid, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_explains_is_no_loss() {
        BALANCE.store(0, Ordering::Relaxed);
        assert_eq!([15; 4].map(settle), [0; 4]);
        assert_eq!([-50, 10, 10, 10, 10, 10].map(settle), [0; 6]);
        // 60 intervals are pending. Of ten more, six are too many for chance.
        assert_eq!(settle(10), 6);
        settle(-200);
        assert_eq!([15; 10].map(settle), [0; 10]);
        // 14 intervals are pending.
        assert_eq!([16; 5].map(settle), [0, 0, 0, 14, 16], "of all threads together");
        // The loss of one thread is not chance, even if other threads had too many samples.
        BALANCE.store(-60, Ordering::Relaxed);
        assert_eq!([16, 17, 60].map(settle), [0, 1, 44]);
        assert_eq!(BALANCE.load(Ordering::Relaxed), -60 + 3 * 16);
    }
}
