//! The hammer: a thread that signals whatever thread has run since it looked last, without any
//! timer.
//!
//! It is there for the soak (`scripts/soak`), whose walks are to be as many as the machine can
//! make, and is no engine for a profile: a thread rests under it for an interval alone, and the
//! program is slowed several times. What a signal weighs is told by the thread's clock, as ever. It
//! must never signal a thread that has not run: its system calls would be interrupted for nothing.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::queue;
use crate::clock;
use crate::fault::guard;
use crate::own_thread::{self, Blocked, OwnThread};
use crate::threads::present;

/// How often it asks the kernel which threads there are.
const LOOK: Duration = Duration::from_millis(10);

/// The one that is at work.
static HAMMER: Mutex<Option<Hammer>> = Mutex::new(None);
static THREAD: OwnThread = OwnThread::new();
/// The CPU time of those that have ended.
static SPENT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Hammer {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Begins to signal, each thread once in this much of its CPU time, if it gets round so often.
pub fn start(interval: Duration) -> io::Result<()> {
    let ending = Arc::new(AtomicBool::new(false));
    let its = Arc::clone(&ending);
    let thread =
        Builder::new().name("Vouch hammer".to_owned()).spawn(move || guard((), || body(interval, &its)))?;
    THREAD.await_begin();
    *HAMMER.lock() = Some(Hammer { ending, thread });
    Ok(())
}

/// Ends it: when this returns it signals no more.
pub fn stop() {
    let Some(Hammer { ending, thread }) = HAMMER.lock().take() else { return };
    ending.store(true, Ordering::Relaxed);
    // What it could say of its end has been said by its guard.
    let _ = thread.join();
}

/// The CPU time that it has had, in nanoseconds.
pub fn cpu() -> u64 {
    SPENT.load(Ordering::Relaxed).saturating_add(THREAD.cpu())
}

fn body(interval: Duration, ending: &AtomicBool) {
    let _running = THREAD.begin(Blocked::All);
    // What it signals would else have every core to itself until its slice ends.
    own_thread::take_priority();
    // Of each thread its CPU clock when it was signalled last, or found.
    let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
    let mut next_look = Instant::now();
    while !ending.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now >= next_look {
            // The list may leave out a thread that lives, while others end.
            for tid in present::present().unwrap_or_default() {
                threads.entry(tid).or_insert_with(|| clock::thread_cpu(tid).unwrap_or(0));
            }
            next_look = now + LOOK;
        }
        threads.retain(|tid, before| {
            let Some(cpu) = clock::thread_cpu(*tid) else { return false };
            if cpu.saturating_sub(*before) >= clock::nanos(interval) {
                *before = cpu;
                queue::signal(*tid, 0);
            }
            true
        });
        sleep(interval.min(LOOK));
    }
    SPENT.fetch_add(clock::own_cpu(), Ordering::Relaxed);
}
