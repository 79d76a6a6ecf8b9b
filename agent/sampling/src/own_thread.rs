//! A thread of the agent is absent from every profile. It handles no signal of the program, and its
//! CPU time is counted separately.
//!
//! It must never be mistaken for a thread of the program, so it is marked before it does anything.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use once_cell::sync::OnceCell;
use vouch_signal::signal_number;

use crate::clock;

/// The kernel's id of one agent thread. It is 0 before the thread runs and after it has ended.
#[derive(Debug, Default)]
pub struct OwnThread(AtomicU32);

/// The function that excludes a thread from the profile, by the kernel's id.
static EXCLUDE: OnceCell<fn(u32)> = OnceCell::new();

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Sets the function that excludes a thread from the profile. The call must precede the first agent
/// thread.
pub fn exclude_by(exclude: fn(u32)) {
    EXCLUDE.get_or_init(|| exclude);
}

/// Returns true if the calling thread is an agent thread.
pub fn is_calling() -> bool {
    IS_OWN.get()
}

/// The signals that an agent thread blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    All,
    /// Only the sampling signal. The thread belongs to the JVM, which needs the other signals.
    SamplingSignal,
}

impl OwnThread {
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Marks the calling thread as this agent thread, until the result is dropped.
    pub fn begin(&self, blocked: Blocked) -> Running<'_> {
        block(blocked);
        IS_OWN.set(true);
        let tid = clock::own_tid();
        if let Some(exclude) = EXCLUDE.get() {
            exclude(tid);
        }
        self.0.store(tid, Ordering::Release);
        Running(self)
    }

    /// Waits until the thread has begun. The thread's creator calls it: before that, the thread
    /// could be sampled like any other.
    pub fn await_begin(&self) {
        wait_until(|| self.runs());
    }

    /// Calls `ask` to end the thread, and waits until the kernel has removed it. Returns false on a
    /// timeout.
    pub fn end_by(&self, ask: impl FnOnce()) -> bool {
        let tid = self.tid();
        ask();
        tid == 0 || wait_until(|| !self.runs() && !exists(tid))
    }

    pub fn runs(&self) -> bool {
        self.tid() != 0
    }

    pub fn tid(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Sets the thread's name in the kernel.
    pub fn call(&self, name: &str) {
        // A failure is ignored: the name only helps a person who reads it.
        let _ = std::fs::write(format!("/proc/self/task/{}/comm", self.tid()), name);
    }

    /// Returns the CPU time of the thread so far, in nanoseconds.
    pub fn cpu(&self) -> u64 {
        match self.tid() {
            0 => 0,
            tid => clock::thread_cpu(tid).unwrap_or(0),
        }
    }
}

/// Waits until a condition is true. Returns false if it takes longer than `PATIENCE`.
fn wait_until(done: impl Fn() -> bool) -> bool {
    const PATIENCE: Duration = Duration::from_millis(200);
    let begun = Instant::now();
    while !done() {
        if begun.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    true
}

/// Returns true if this process has a thread with this id.
fn exists(tid: u32) -> bool {
    // SAFETY: signal 0 is never delivered. The call only checks that the thread exists.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) == 0 }
}

/// A guard for a running agent thread. The thread counts as running until the guard is dropped.
#[derive(Debug)]
pub struct Running<'t>(&'t OwnThread);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}

/// Raises the calling thread's priority, if the system allows it. It tries real time first, and
/// then the highest ordinary priority.
pub fn take_priority() {
    const FIRST: i32 = -20;
    // The code uses the raw system call: musl has the function, but it always fails there. The
    // parameter is one number.
    let lowest: libc::c_int = 1;
    // SAFETY: both calls concern the calling thread. The first reads one number. A refusal changes
    // nothing.
    unsafe {
        if libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_RR, &raw const lowest) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, clock::own_tid(), FIRST);
        }
    }
}

fn block(blocked: Blocked) {
    // SAFETY: all zero is a valid set. The calls write the set, and the mask is this thread's own.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        match blocked {
            Blocked::All => libc::sigfillset(&raw mut set),
            Blocked::SamplingSignal => libc::sigaddset(&raw mut set, signal_number::get()),
        };
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
