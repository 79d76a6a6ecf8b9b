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
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use vouch::lab_api::guard;
use vouch_sampling::clock;
use vouch_sampling::engine::{ExternalEngine, add_cpu, queue};
use vouch_sampling::own_thread::{self, Blocked, OwnThread};
use vouch_sampling::present::present;

/// The time between two readings of the kernel's list of threads.
const LOOK: Duration = Duration::from_millis(10);

/// The hammer that is running.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
static THREAD: OwnThread = OwnThread::new();

#[derive(Debug)]
struct Running {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The engine of `engine=hammer`.
#[derive(Debug)]
pub struct Hammer;

impl ExternalEngine for Hammer {
    fn name(&self) -> &'static str {
        "hammer"
    }

    fn warning(&self) -> &'static str {
        "engine=hammer walks as often as it can, and slows the program several times: it is for scripts/soak"
    }

    fn rests(&self) -> bool {
        false
    }

    /// A round that takes longer than the interval makes the signals fewer.
    fn start(&self, interval: Duration) -> io::Result<()> {
        let ending = Arc::new(AtomicBool::new(false));
        let its = Arc::clone(&ending);
        let thread = Builder::new()
            .name("Vouch hammer".to_owned())
            .spawn(move || guard((), || body(interval, &its)))?;
        THREAD.await_begin();
        *RUNNING.lock() = Some(Running { ending, thread });
        Ok(())
    }

    fn stop(&self) {
        let Some(Running { ending, thread }) = RUNNING.lock().take() else { return };
        ending.store(true, Ordering::Relaxed);
        // The thread's guard has already reported a panic.
        let _ = thread.join();
    }
}

fn body(interval: Duration, ending: &AtomicBool) {
    let _running = THREAD.begin(Blocked::All);
    // Without priority, the signalled threads would have every core until their time slice ends.
    own_thread::take_priority();
    // The CPU clock of each thread when it was found or last signalled.
    let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
    let mut next_look = Instant::now();
    let mut counted = 0;
    while !ending.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now >= next_look {
            // The list may leave out a live thread while others end.
            for tid in present().unwrap_or_default() {
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
        let cpu = clock::own_cpu();
        add_cpu(cpu.saturating_sub(counted));
        counted = cpu;
        sleep(interval.min(LOOK));
    }
}
