//! Reads and sets signal handlers in the kernel's own layout.
//!
//! The calls bypass the C library, and so libjsig and sanitizers, which may show another handler
//! than the kernel calls.

use std::ffi::c_int;
use std::io;

/// A signal handler in the kernel's layout.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Action {
    pub handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

impl Action {
    /// Returns another handler with the same flags and mask.
    #[must_use]
    pub fn with_handler(self, handler: usize) -> Self {
        Self { handler, ..self }
    }

    /// Returns true if the kernel passes the handler a siginfo and a context.
    pub fn has_siginfo(&self) -> bool {
        self.has(libc::SA_SIGINFO)
    }

    fn has(&self, flag: c_int) -> bool {
        self.flags & u64::from(flag.unsigned_abs()) != 0
    }
}

/// Returns the handler that the kernel calls, even if a library wraps it. Returns the default if
/// the kernel does not answer.
pub fn handler_of(signal: i32) -> usize {
    current_action(signal).map_or(libc::SIG_DFL, |action| action.handler)
}

/// Returns true if the kernel calls this signal's handler on an alternate stack.
pub fn runs_elsewhere(signal: i32) -> bool {
    let is_handled = |action: &Action| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler);
    current_action(signal).is_ok_and(|action| is_handled(&action) && action.has(libc::SA_ONSTACK))
}

/// Returns the current handler.
pub fn current_action(signal: i32) -> io::Result<Action> {
    // SAFETY: no handler is set.
    unsafe { exchange(signal, None) }
}

/// Sets a handler, and returns the previous one.
///
/// # Safety
/// The handler must be async-signal-safe, and its library must never be unloaded.
pub unsafe fn set_action(signal: i32, action: &Action) -> io::Result<Action> {
    // SAFETY: by the caller's promise.
    unsafe { exchange(signal, Some(action)) }
}

/// Sets a handler if one is passed, and returns the previous one.
///
/// # Safety
/// As of [`set_action`].
unsafe fn exchange(signal: i32, action: Option<&Action>) -> io::Result<Action> {
    let mut before = Action::default();
    let action = action.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the kernel reads one action, if there is one, and writes one. The caller promises the
    // rest.
    let code =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action, &raw mut before, size_of::<u64>()) };
    if code == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}
