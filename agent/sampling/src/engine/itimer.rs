//! ITIMER_PROF: one timer for the process, which the kernel checks at each tick.
//!
//! A process has only one such timer. The program may set it for itself at any time, and the agent
//! must never stop it then.

use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The interval that the agent set, in the microseconds that the kernel keeps; 0 if the timer is
/// not the agent's.
static SET_US: AtomicU64 = AtomicU64::new(0);

/// Starts the process's timer.
pub fn start(interval: Duration) -> io::Result<()> {
    set(interval)?;
    SET_US.store(present_us(), Ordering::Relaxed);
    Ok(())
}

/// Stops the timer, if its interval is still the one that the agent set. A failure is ignored.
pub fn stop() {
    let set_us = SET_US.swap(0, Ordering::Relaxed);
    if set_us > 0 && set_us == present_us() {
        let _ = set(Duration::ZERO);
    }
}

/// Returns the timer's present interval. The kernel may have rounded the requested one.
fn present_us() -> u64 {
    // SAFETY: all zero is a valid itimerval.
    let mut present: libc::itimerval = unsafe { std::mem::zeroed() };
    // SAFETY: writes one itimerval.
    unsafe { libc::getitimer(libc::ITIMER_PROF, &raw mut present) };
    let libc::timeval { tv_sec, tv_usec } = present.it_interval;
    tv_sec.cast_unsigned().saturating_mul(1_000_000).saturating_add(tv_usec.cast_unsigned())
}

fn set(interval: Duration) -> io::Result<()> {
    let value = libc::timeval {
        tv_sec: interval.as_secs().try_into().unwrap_or(i64::MAX),
        tv_usec: interval.subsec_micros().into(),
    };
    let timer = libc::itimerval { it_interval: value, it_value: value };
    // SAFETY: reads one itimerval.
    let done = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
