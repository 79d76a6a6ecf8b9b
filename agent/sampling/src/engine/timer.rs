//! A POSIX CPU timer for one thread. The kernel checks it at each tick, and reports the number of
//! overruns.

use std::io;
use std::ptr::null_mut;
use std::time::Duration;

use vouch_signal::signal_number;

use crate::clock::cpu_clock;

/// A timer. Dropping it deletes it.
#[derive(Debug)]
pub struct Timer(libc::timer_t);

// SAFETY: a timer's id may be used by every thread of the process.
unsafe impl Send for Timer {}

impl Timer {
    /// Makes a timer on the CPU clock of thread `tid`, which signals that thread.
    pub fn make(tid: u32) -> io::Result<Self> {
        // SAFETY: all zero is a valid sigevent.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal_number::get();
        event.sigev_notify_thread_id = tid.cast_signed();
        let mut id: libc::timer_t = null_mut();
        // SAFETY: reads `event`, writes `id`.
        if unsafe { libc::timer_create(cpu_clock(tid), &raw mut event, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(id))
    }

    /// Starts the signals, the first after `first`.
    pub fn start(&self, interval: Duration, first: Duration) -> io::Result<()> {
        let setting = libc::itimerspec { it_interval: timespec(interval), it_value: timespec(first) };
        // SAFETY: the timer is this object's own, and the call reads one itimerspec.
        let done = unsafe { libc::timer_settime(self.0, 0, &raw const setting, null_mut()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is this object's own and is deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
