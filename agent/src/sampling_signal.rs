//! The signal by which threads are sampled: whose it is, and the handler put in place.
//!
//! It must never be taken from somebody who has it: a program that wants the signal for itself gets
//! its own signals and no others.

use std::ffi::{CStr, c_int};
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use vouch_hotspot::is_in_other_library;
use vouch_signal::handler::on_sigprof;
use vouch_signal::signal_number;

use crate::guard;
use crate::options::signal::Signal;

/// Who handles the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Vouch,
    Nobody,
    Another,
}

/// What the kernel said that the handler is, once it was installed: a library may stand between
/// (libjsig, a sanitizer) and put its own around it.
static INSTALLED: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// The signals that the process ignored before their handlers were installed.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Who handles it now: the program, or a library of it, may put its own handler in place at any
/// time.
pub fn owner() -> Owner {
    owner_of(signal_number::get())
}

fn owner_of(signal: c_int) -> Owner {
    let installed = INSTALLED.load(Ordering::Relaxed);
    match guard::handler_of(signal) {
        libc::SIG_DFL | libc::SIG_IGN => Owner::Nobody,
        handler if handler == installed => Owner::Vouch,
        _ => Owner::Another,
    }
}

/// Has threads sampled by this signal: installs its handler, unless somebody else has one. The
/// handler of another signal that was used before stays, since one may still be pending.
pub fn take(signal: Signal) -> Result<(), String> {
    install(signal)?;
    signal_number::set(signal.number());
    Ok(())
}

/// Removes the handlers of all signals that were ever sampled by. Nothing may send one any more.
pub fn give_back() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| owner_of(*signal) == Owner::Vouch) {
        // The pending ones are dropped when the signal is ignored. By default they would end the
        // process.
        // SAFETY: no function is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
        if IGNORED.load(Ordering::Relaxed) & bit(signal) == 0 {
            // SAFETY: as above.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

/// A signal's bit in [`IGNORED`].
fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn install(signal: Signal) -> Result<(), String> {
    match owner_of(signal.number()) {
        Owner::Vouch => return Ok(()),
        Owner::Nobody if has_other_copy() => {
            return Err("another copy of Vouch is loaded in this JVM: use that one".to_owned());
        }
        Owner::Nobody => {}
        Owner::Another => {
            return Err(format!(
                "{signal} is taken: another profiler or the program has a handler for it in this JVM, and some profilers \
                 leave theirs when they end; use one profiler at a time, and if the other one has ended restart the JVM or \
                 sample by another signal, such as signal={}",
                Signal::proposal(signal)
            ));
        }
    }
    let before = guard::handler_of(signal.number());
    // SAFETY: all zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_sigprof as *const () as usize;
    // System calls go on where they were.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | elsewhere();
    // No other handler may run on top of a walk: it could leave it by a jump, and its own faults
    // would look like the walk's. SAFETY: both write the set of an action that is our own.
    unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&raw mut action.sa_mask, fault);
        }
    }
    // SAFETY: the handler keeps to what a signal handler may do, and the library is never unloaded.
    if unsafe { libc::sigaction(signal.number(), &raw const action, null_mut()) } == 0 {
        if before == libc::SIG_IGN {
            IGNORED.fetch_or(bit(signal.number()), Ordering::Relaxed);
        }
        INSTALLED.store(guard::handler_of(signal.number()), Ordering::Relaxed);
        Ok(())
    } else {
        Err(format!("the handler of {signal} could not be installed: {}", io::Error::last_os_error()))
    }
}

/// True if another copy of this library handles some signal: two would guard and sample each
/// other's walks.
fn has_other_copy() -> bool {
    // What each copy exports, and nothing else does.
    const OURS: &CStr = c"Java_dev_vouch_Oracle_self";
    let own = on_sigprof as *const () as usize;
    let handlers = (1..=libc::SIGRTMAX()).map(guard::handler_of);
    let mut handlers = handlers.filter(|handler| ![libc::SIG_DFL, libc::SIG_IGN].contains(handler));
    handlers.any(|handler| is_in_other_library(handler, own, OURS))
}

/// Where the handler is to run: on the thread's own stack, which has room for a walk where an
/// alternate one (of Rust's threads, say) may have none. But not where Go runs, whose stacks have
/// no room for any handler, and whose threads have another one for all of them. It can be told by
/// its handler for SIGURG, a signal that nobody else handles so.
fn elsewhere() -> c_int {
    if guard::runs_elsewhere(libc::SIGURG) { libc::SA_ONSTACK } else { 0 }
}
