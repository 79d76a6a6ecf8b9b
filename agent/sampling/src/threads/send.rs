//! Sends the sampling signal.

use vouch_signal::signal_number;

/// Sends the sampling signal to a thread of this process.
pub fn signal(tid: u32) {
    // SAFETY: the signal has a handler of the agent's. The kernel returns an error if the thread
    // has ended.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal_number::get()) };
}
