//! Finds the owner of the sampling signal, and installs the handler.
//!
//! The signal must never be taken from another owner. A program that uses the signal gets its own
//! signals and no others.

use std::ffi::{CStr, c_int};
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use vouch_hotspot::is_in_other_library;
use vouch_signal::handler::on_sigprof;
use vouch_signal::signal_number;

use crate::error::Error;
use crate::signal::Signal;
use crate::signal_handlers;

/// The owner of the signal's handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Vouch,
    Nobody,
    Another,
}

/// The handler that the kernel reported after the installation. A library (libjsig, a sanitizer)
/// may wrap our handler in its own.
static INSTALLED: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// The signals that the process ignored before their handlers were installed.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Returns the current owner. The program, or one of its libraries, may install a handler at any
/// time.
pub fn owner() -> Owner {
    owner_of(signal_number::get())
}

fn owner_of(signal: c_int) -> Owner {
    let installed = INSTALLED.load(Ordering::Relaxed);
    match signal_handlers::handler_of(signal) {
        libc::SIG_DFL | libc::SIG_IGN => Owner::Nobody,
        handler if handler == installed => Owner::Vouch,
        _ => Owner::Another,
    }
}

/// Selects the signal by which threads are sampled, and installs its handler unless another owner
/// has one. The handler of the previous signal stays, since one may still be pending.
pub fn take(signal: Signal) -> Result<(), Error> {
    install(signal)?;
    signal_number::set(signal.number());
    Ok(())
}

/// Removes the handlers of all signals that were ever used for sampling. No code may send one
/// afterwards.
pub fn give_back() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| owner_of(*signal) == Owner::Vouch) {
        // The kernel drops pending signals once the signal is ignored. The default action would end
        // the process.
        set_disposition(signal, libc::SIG_IGN);
        if IGNORED.load(Ordering::Relaxed) & bit(signal) == 0 {
            set_disposition(signal, libc::SIG_DFL);
        }
    }
}

/// Sets `SIG_IGN` or `SIG_DFL`. Under libjsig, JDK 16 and newer warn on stderr of `signal`, so this
/// calls `sigaction`.
fn set_disposition(signal: c_int, disposition: libc::sighandler_t) {
    // SAFETY: all zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = disposition;
    // SAFETY: no function is installed.
    unsafe { libc::sigaction(signal, &raw const action, null_mut()) };
}

/// Returns a signal's bit in [`IGNORED`].
fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn install(signal: Signal) -> Result<(), Error> {
    match owner_of(signal.number()) {
        Owner::Vouch => return Ok(()),
        Owner::Nobody if has_other_copy() => {
            return Err(Error::OtherCopy);
        }
        Owner::Nobody => {}
        Owner::Another => return Err(Error::SignalTaken(signal)),
    }
    let before = signal_handlers::handler_of(signal.number());
    // SAFETY: all zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_sigprof as *const () as usize;
    // The kernel restarts interrupted system calls.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | elsewhere();
    // No other handler may interrupt a walk. It could leave the walk by a jump, and its own faults
    // would look like the walk's.
    // SAFETY: both write the set of an action that is our own.
    unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&raw mut action.sa_mask, fault);
        }
    }
    // SAFETY: the handler is async-signal-safe, and the library is never unloaded.
    if unsafe { libc::sigaction(signal.number(), &raw const action, null_mut()) } == 0 {
        if before == libc::SIG_IGN {
            IGNORED.fetch_or(bit(signal.number()), Ordering::Relaxed);
        }
        INSTALLED.store(signal_handlers::handler_of(signal.number()), Ordering::Relaxed);
        Ok(())
    } else {
        Err(Error::Handler { signal, error: io::Error::last_os_error() })
    }
}

/// Returns true if another copy of this library handles some signal. Two copies would guard and
/// sample each other's walks.
fn has_other_copy() -> bool {
    // Each copy of the library exports this symbol, and no other library does.
    const OURS: &CStr = c"VOUCH_AGENT";
    let own = on_sigprof as *const () as usize;
    let handlers = (1..=libc::SIGRTMAX()).map(signal_handlers::handler_of);
    let mut handlers = handlers.filter(|handler| ![libc::SIG_DFL, libc::SIG_IGN].contains(handler));
    handlers.any(|handler| is_in_other_library(handler, own, OURS))
}

/// Returns the flag that selects the handler's stack. The thread's own stack has enough space for a
/// walk. An alternate stack, as of Rust's threads, may be too small. Go is the exception. Its
/// goroutine stacks have no space for a handler, and each of its threads has an alternate stack. Go
/// is recognised by its handler for SIGURG, which no other runtime installs so.
fn elsewhere() -> c_int {
    if signal_handlers::runs_elsewhere(libc::SIGURG) { libc::SA_ONSTACK } else { 0 }
}
