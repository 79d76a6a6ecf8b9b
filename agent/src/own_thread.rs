//! A thread of the agent's own: no profile has it, it handles none of the program's signals, and
//! its CPU time is told apart.
//!
//! It must never be taken for the program's, so it says what it is before it does anything.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use once_cell::sync::OnceCell;
use vouch_signal::signal_number;

use crate::clock;

/// The kernel's id of one of them; 0 until it runs, and once it has ended.
#[derive(Debug, Default)]
pub struct OwnThread(AtomicU32);

/// What keeps a thread out of the profile, by the kernel's id.
static EXCLUDE: OnceCell<fn(u32)> = OnceCell::new();

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Sets what keeps a thread out of the profile. It is called before the first thread begins.
pub fn exclude_by(exclude: fn(u32)) {
    EXCLUDE.get_or_init(|| exclude);
}

/// Whether the calling thread is one of them.
pub fn is_calling() -> bool {
    IS_OWN.get()
}

/// Which signals are not to land on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    All,
    /// The JVM needs the others: it is one of its threads.
    SamplingSignal,
}

impl OwnThread {
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The calling thread is the one, until what is given back is dropped.
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

    /// Waits until it has begun, which whoever made it should: until then it is a thread like any
    /// other, and could be sampled.
    pub fn await_begin(&self) {
        soon(|| self.runs());
    }

    /// Ends the thread by `ask` and waits until the kernel has it no more. False if that takes too
    /// long.
    pub fn end_by(&self, ask: impl FnOnce()) -> bool {
        let tid = self.tid();
        ask();
        tid == 0 || soon(|| !self.runs() && !exists(tid))
    }

    pub fn runs(&self) -> bool {
        self.tid() != 0
    }

    pub fn tid(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// The kernel's name of it.
    pub fn call(&self, name: &str) {
        // A name is for whoever looks on.
        let _ = std::fs::write(format!("/proc/self/task/{}/comm", self.tid()), name);
    }

    /// The CPU time that it has had, in nanoseconds.
    pub fn cpu(&self) -> u64 {
        match self.tid() {
            0 => 0,
            tid => clock::thread_cpu(tid).unwrap_or(0),
        }
    }
}

/// Waits for something that takes a moment; false if it takes too long.
fn soon(done: impl Fn() -> bool) -> bool {
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

/// True if this process has such a thread.
fn exists(tid: u32) -> bool {
    // SAFETY: signal 0 is none, and only asks.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) == 0 }
}

/// While it is there, the thread runs.
#[derive(Debug)]
pub struct Running<'t>(&'t OwnThread);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}

/// The calling thread goes before all others, if the system allows it: among those of real time,
/// else among the ordinary.
pub fn take_priority() {
    const FIRST: i32 = -20;
    // The kernel's own, of a number alone: musl knows the call, but refuses all that it is asked.
    let lowest: libc::c_int = 1;
    // SAFETY: both calls are about the calling thread; the first reads one number. Refusals change
    // nothing.
    unsafe {
        if libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_RR, &raw const lowest) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, clock::own_tid(), FIRST);
        }
    }
}

fn block(blocked: Blocked) {
    // SAFETY: all zero is a valid set; the calls write it, and the mask is this thread's own.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        match blocked {
            Blocked::All => libc::sigfillset(&raw mut set),
            Blocked::SamplingSignal => libc::sigaddset(&raw mut set, signal_number::get()),
        };
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
