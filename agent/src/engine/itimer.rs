//! ITIMER_PROF: one timer for the process, which the kernel looks at when it ticks.

use std::io;
use std::ptr::null_mut;
use std::time::Duration;

/// Starts the process's timer.
pub fn start(interval: Duration) -> io::Result<()> {
    set(interval)
}

/// Stops it. Nothing can be done about a failure.
pub fn stop() {
    let _ = set(Duration::ZERO);
}

fn set(interval: Duration) -> io::Result<()> {
    let value = libc::timeval {
        tv_sec: interval.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_usec: interval.subsec_micros().into(),
    };
    let timer = libc::itimerval { it_interval: value, it_value: value };
    // SAFETY: reads one itimerval.
    let done = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
