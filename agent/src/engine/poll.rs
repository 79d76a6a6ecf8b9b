//! Pollers: threads that look at random times which threads of the program have a processor, and
//! signal those.
//!
//! They need nothing that a container forbids, and know no kernel tick. A thread is found running
//! in proportion to the time that it runs, however short that is at a time; so what is found stands
//! for the elapsed time since the last look. A thread runs if its CPU clock moves between two
//! readings. On the poller's own processor none does, so there is a poller on each of two to four
//! processors, which sees the others. Where there are more, one poller suffices.
//!
//! A poller must never signal a thread that sleeps, which would interrupt its system call. It wakes
//! when the thread on its processor leaves the kernel, if the kernel is not preemptible: threads
//! that hand work to each other every few microseconds are seen at some of their places more than
//! at others.

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
use super::queue;
use crate::clock;
use crate::fault::guard;
use crate::own_thread::{self, Blocked, OwnThread};

/// On at most this many processors each has a poller.
const MAX_PINNED: usize = 4;
/// All looks together take at most one part in this many of a processor.
const COST_SHARE: u64 = 50;
/// The cost of a look is smoothed over this many looks.
const SMOOTHING: u64 = 16;
/// Threads that end owe samples, or had too many, by chance. What is below this many intervals, of
/// all threads together, is no loss.
const MAX_BALANCE: i64 = 64;
/// The same of one thread.
const MAX_THREAD_BALANCE: i64 = 16;

/// Those that are at work.
static POLLERS: Mutex<Vec<Poller>> = Mutex::new(Vec::new());
static THREADS: [OwnThread; MAX_PINNED] = [const { OwnThread::new() }; MAX_PINNED];
/// The CPU time that pollers have had, in nanoseconds.
static SPENT: AtomicU64 = AtomicU64::new(0);
static WATCHED: Lazy<Mutex<WatchList>> = Lazy::new(Mutex::default);
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
/// Intervals for which threads ran and no sample stands, of threads that have ended.
static BALANCE: AtomicI64 = AtomicI64::new(0);

#[derive(Debug)]
struct Poller {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// A thread is looked at until this is dropped.
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

/// Why there can be no poller here; `None` if there can.
pub fn obstacle() -> Option<String> {
    (processors().len() < 2).then(|| "it needs two processors, and this process may use one".to_owned())
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
            .spawn(move || guard((), || body(own, &plan, &its)));
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

/// Ends the pollers. When this returns none signals any more.
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

/// The CPU time that pollers have had, in nanoseconds.
pub fn cpu() -> u64 {
    SPENT.load(Ordering::Relaxed)
}

/// Settles a thread that ran for `balance` intervals more than its samples stand for, or fewer: for
/// how many of them there has to be a sample without a stack. The pool of all threads hides at most
/// `MAX_THREAD_BALANCE` intervals of one thread.
pub fn settle(balance: i64) -> u32 {
    let all = BALANCE.fetch_add(balance, Ordering::Relaxed).saturating_add(balance);
    let lost = all.saturating_sub(MAX_BALANCE).min(balance).max(balance - MAX_THREAD_BALANCE).max(0);
    BALANCE.fetch_sub(lost, Ordering::Relaxed);
    u32::try_from(lost).unwrap_or(u32::MAX)
}

/// The processors that this process may use.
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

/// Keeps the calling thread on one processor. If that is refused it runs on any, and some threads
/// are seen less often.
fn pin(processor: usize) {
    // SAFETY: all zero is a valid set; the number is one that the kernel had in such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// How a poller works.
struct Plan {
    /// In nanoseconds.
    interval: u64,
    /// How many pollers there are.
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
    SPENT.fetch_add(before, Ordering::Relaxed);
    loop {
        let period = plan.interval.max(cost.saturating_mul(COST_SHARE)).saturating_mul(plan.count);
        rest(period / 2 + random.u64(0..period), ending);
        if ending.load(Ordering::Relaxed) {
            return;
        }
        let now = clock::monotonic();
        // All pollers but its own see a thread.
        unspent += now.saturating_sub(looked) / (plan.count - 1).max(1);
        looked = now;
        look(unspent / plan.interval, random.u64(..));
        unspent %= plan.interval;
        let after = clock::own_cpu();
        let took = after.saturating_sub(before);
        SPENT.fetch_add(took, Ordering::Relaxed);
        cost = (cost * (SMOOTHING - 1) + took) / SMOOTHING;
        before = after;
    }
}

/// Sleeps for this many nanoseconds, or until the end.
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

/// A thread has a processor. Where threads that ended had more samples than they ran for, this
/// one's makes up for it.
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
        // 60 are owed; of ten more, six are too many for chance.
        assert_eq!(settle(10), 6);
        settle(-200);
        assert_eq!([15; 10].map(settle), [0; 10]);
        // 14 are owed.
        assert_eq!([16; 5].map(settle), [0, 0, 0, 14, 16], "of all threads together");
        // What one thread lost is not chance, even where others had too many samples.
        BALANCE.store(-60, Ordering::Relaxed);
        assert_eq!([16, 17, 60].map(settle), [0, 1, 44]);
        assert_eq!(BALANCE.load(Ordering::Relaxed), -60 + 3 * 16);
    }
}
