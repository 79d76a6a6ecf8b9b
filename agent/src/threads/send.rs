//! Sends the sampling signal.

use vouch_signal::signal_number;

/// Sends the sampling signal to a thread of this process.
pub fn signal(tid: u32) {
    // SAFETY: a signal with a handler of ours; that the thread may have ended is the kernel's to
    // tell.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal_number::get()) };
}
