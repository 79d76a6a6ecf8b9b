//! The signal by which threads are sampled: whose it is, and the handler put in place.
//!
//! It must never be taken from somebody who has it: a program that wants the signal for itself gets its own signals and no others.

use std::ffi::c_int;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use vouch_signal::handler::on_sigprof;

use crate::guard;

/// Who handles the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Vouch,
    Nobody,
    Another,
}

/// What the kernel said that the handler is, once it was installed: a library may stand between (libjsig, a sanitizer) and put its own
/// around it.
static INSTALLED: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Who handles it now: the program, or a library of it, may put its own handler in place at any time.
pub fn owner() -> Owner {
    let installed = INSTALLED.load(Ordering::Relaxed);
    match guard::handler_of(libc::SIGPROF) {
        libc::SIG_DFL | libc::SIG_IGN => Owner::Nobody,
        handler if handler == installed => Owner::Vouch,
        _ => Owner::Another,
    }
}

/// Installs the handler, unless somebody else has one.
pub fn take() -> Result<(), String> {
    match owner() {
        Owner::Vouch => return Ok(()),
        Owner::Nobody => {}
        Owner::Another => {
            return Err(
                "SIGPROF is taken: another profiler or the program has a handler for it in this JVM, and some profilers \
                 leave theirs when they end; use one profiler at a time, and restart the JVM if the other one has ended"
                    .to_owned(),
            );
        }
    }
    // SAFETY: all zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_sigprof as *const () as usize;
    // System calls go on where they were.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | elsewhere();
    // No other handler may run on top of a walk: it could leave it by a jump, and its own faults would look like the walk's.
    // SAFETY: both write the set of an action that is our own.
    unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&raw mut action.sa_mask, fault);
        }
    }
    // SAFETY: the handler keeps to what a signal handler may do, and the library is never unloaded.
    if unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) } == 0 {
        INSTALLED.store(guard::handler_of(libc::SIGPROF), Ordering::Relaxed);
        Ok(())
    } else {
        Err(format!("the handler of SIGPROF could not be installed: {}", io::Error::last_os_error()))
    }
}

/// Where the handler is to run: on the thread's own stack, which has room for a walk where an alternate one (of Rust's threads, say) may
/// have none. But not where Go runs, whose stacks have no room for any handler, and whose threads have another one for all of them. It can be told
/// by its handler for SIGURG, a signal that nobody else handles so.
fn elsewhere() -> c_int {
    if guard::runs_elsewhere(libc::SIGURG) { libc::SA_ONSTACK } else { 0 }
}
