//! Reads clocks and ids from the kernel. Only handlers read them elsewhere.

use std::time::Duration;

use vouch_report::float;

pub use vouch_unwind::kernel::{own_cpu, own_tid};

/// Returns CLOCK_MONOTONIC in nanoseconds, the same value as `System.nanoTime`.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Returns the time since the epoch, in nanoseconds.
pub fn epoch() -> u64 {
    read(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// Returns the CPU time of this process, in nanoseconds.
pub fn process_cpu() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// Returns the kernel's resource usage of this process so far.
pub fn usage() -> libc::rusage {
    // SAFETY: all zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes one rusage.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage
}

/// Returns the CPU time of a thread of this process, in nanoseconds. `None` means that it has
/// ended.
pub fn thread_cpu(tid: u32) -> Option<u64> {
    read(cpu_clock(tid))
}

/// Returns the time of day after `time` from now, as calls with an absolute timeout need it.
pub fn from_now(time: Duration) -> libc::timespec {
    after(epoch(), time)
}

/// Adds a duration to a moment. The result is by the clock that the moment was read from.
pub fn after(moment: u64, time: Duration) -> libc::timespec {
    let until = moment.saturating_add(nanos(time));
    libc::timespec {
        tv_sec: i64::try_from(until / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: libc::c_long::try_from(until % 1_000_000_000).unwrap_or(0),
    }
}

/// Formats the current time for a file name, as in 20260131-235959.
pub fn file_stamp() -> String {
    file_stamp_at(epoch())
}

/// Returns the local time of a moment since the epoch in nanoseconds, as [`file_stamp`] does.
pub fn file_stamp_at(epoch_ns: u64) -> String {
    let seconds = Duration::from_nanos(epoch_ns).as_secs().try_into().unwrap_or(0);
    // SAFETY: all zero is a valid tm.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: reads `seconds`, writes `parts`.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) };
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

/// Converts nanoseconds to seconds.
pub fn seconds(nanos: u64) -> f64 {
    float(nanos) / 1e9
}

/// Converts a duration to whole nanoseconds, at most `u64::MAX`.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the clock id of a thread's CPU time, in the kernel's encoding (`MAKE_THREAD_CPUCLOCK`).
pub fn cpu_clock(tid: u32) -> libc::clockid_t {
    const PER_THREAD: i32 = 4;
    const SCHED: i32 = 2;
    (!tid.cast_signed() << 3) | PER_THREAD | SCHED
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    let done = unsafe { libc::clock_gettime(clock, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).ok()?;
    (done == 0).then(|| seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0))
}
