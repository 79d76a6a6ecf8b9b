//! The hammer engine: a thread that signals each thread that has run since the last look, without
//! any timer.
//!
//! It is made for the soak (`scripts/soak`), which needs as many walks as the machine can make. It
//! is no engine for a profile: a thread rests for only one interval, and the program runs several
//! times slower. The thread's CPU clock gives a signal's weight, as with other engines. It must
//! never signal a thread that has not run: that would interrupt its system calls for nothing.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::queue;
use crate::clock;
use crate::own_thread::{self, Blocked, OwnThread};
use crate::present;
use crate::services::services;

/// The time between two readings of the kernel's list of threads.
const LOOK: Duration = Duration::from_millis(10);

/// The hammer that is running.
static HAMMER: Mutex<Option<Hammer>> = Mutex::new(None);
static THREAD: OwnThread = OwnThread::new();
/// The CPU time of the hammers that have ended.
static SPENT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Hammer {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Starts to signal each thread once per `interval` of its CPU time, if one round is short enough.
pub fn start(interval: Duration) -> io::Result<()> {
    let ending = Arc::new(AtomicBool::new(false));
    let its = Arc::clone(&ending);
    let thread = Builder::new()
        .name("Vouch hammer".to_owned())
        .spawn(move || services().run_guarded(Box::new(|| body(interval, &its))))?;
    THREAD.await_begin();
    *HAMMER.lock() = Some(Hammer { ending, thread });
    Ok(())
}

/// Stops the hammer. It sends no more signals once this returns.
pub fn stop() {
    let Some(Hammer { ending, thread }) = HAMMER.lock().take() else { return };
    ending.store(true, Ordering::Relaxed);
    // The thread's guard has already reported a panic.
    let _ = thread.join();
}

/// Returns the CPU time that hammers have used, in nanoseconds.
pub fn cpu() -> u64 {
    SPENT.load(Ordering::Relaxed).saturating_add(THREAD.cpu())
}

fn body(interval: Duration, ending: &AtomicBool) {
    let _running = THREAD.begin(Blocked::All);
    // Without priority, the signalled threads would have every core until their time slice ends.
    own_thread::take_priority();
    // The CPU clock of each thread when it was found or last signalled.
    let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
    let mut next_look = Instant::now();
    while !ending.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now >= next_look {
            // The list may leave out a live thread while others end.
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
