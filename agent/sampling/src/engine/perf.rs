//! A perf cpu-clock event for one thread: a high-resolution timer that runs while the thread does.
//!
//! Each overflow sends the sampling signal to the thread. Only an event with the kernel's frames
//! has a buffer. The handler sets the regular period, and changes that once in a group of signals.
//! Within a group nothing re-arms the event, so one period follows the other without a gap.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use perf_event_open_sys as sys;
use sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_REGS_USER, PERF_TYPE_SOFTWARE, perf_event_attr,
};

use vouch_log::output::held::beyond_standard_streams;
use vouch_signal::signal_number;

use super::kernel_ring::KernelRing;
use crate::clock::nanos;

/// What an event sees of the time that its thread spends inside the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Nothing, where the system forbids more.
    Hidden,
    /// The time.
    Time,
    /// The time, and the kernel's frames.
    Frames,
}

/// An open event. Closing it ends the signals.
#[derive(Debug)]
pub struct Event {
    file: File,
    kernel: Kernel,
    ring: Option<KernelRing>,
    /// True if the event keeps running as long as its page is mapped.
    stays: bool,
}

/// How many events have no ring for the kernel's frames, since the process started.
static WITHOUT_RING: AtomicU64 = AtomicU64::new(0);

/// Returns how many events could get no ring for the kernel's frames.
pub fn without_ring() -> u64 {
    WITHOUT_RING.load(Ordering::Relaxed)
}

/// How many events are open. The descriptors belong to the program, which keeps three quarters of
/// its limit.
static OPEN: AtomicUsize = AtomicUsize::new(0);
const SHARE: usize = 4;

/// The number of the register of the instruction pointer in perf's interface.
const USER_PC_REGISTER: u64 = if cfg!(target_arch = "x86_64") { 8 } else { 32 };

/// `F_SETSIG` and `F_SETOWN_EX` with its argument. The libc crate lacks the argument's type.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const F_OWNER_TID: i32 = 0;

#[repr(C)]
struct Owner {
    kind: i32,
    id: i32,
}

impl Event {
    /// Opens an event for thread `tid`, not started yet. Once started it signals each `period`,
    /// until the handler sets another one.
    pub fn open(tid: u32, period: Duration, kernel: Kernel) -> io::Result<Self> {
        let mut event = match Self::silent(tid, period, kernel) {
            // Old kernels have no such rings, and memory for call chains may be missing. The time
            // is still sampled then.
            Err(error)
                if kernel == Kernel::Frames
                    && !matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) =>
            {
                Self::silent(tid, period, Kernel::Time)?
            }
            event => event?,
        };
        event.signal(tid)?;
        if kernel == Kernel::Frames {
            if event.kernel == Kernel::Frames {
                event.ring = KernelRing::map(event.descriptor());
            }
            WITHOUT_RING.fetch_add(u64::from(event.ring.is_none()), Ordering::Relaxed);
        }
        Ok(event)
    }

    /// Opens an event that sends no signal: only its timer runs.
    pub fn silent(tid: u32, period: Duration, kernel: Kernel) -> io::Result<Self> {
        let mut attr = attributes(PERF_COUNT_SW_CPU_CLOCK.into(), kernel);
        attr.__bindgen_anon_1.sample_period = nanos(period);
        attr.__bindgen_anon_2.wakeup_events = 1;
        attr.set_disabled(1);
        Self::make(attr, tid, kernel, false)
    }

    /// Opens an event that counts nothing and sends no signal. The kernel still handles it each
    /// time the thread gets a processor.
    pub fn idle(tid: u32) -> io::Result<Self> {
        Self::make(attributes(PERF_COUNT_SW_DUMMY.into(), Kernel::Hidden), tid, Kernel::Hidden, true)
    }

    fn make(mut attr: perf_event_attr, tid: u32, kernel: Kernel, stays: bool) -> io::Result<Self> {
        if OPEN.load(Ordering::Relaxed) >= most_descriptors() / SHARE {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let flags = PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: the attributes are valid for their size, and the returned descriptor belongs to
        // this function.
        let descriptor = unsafe { sys::perf_event_open(&raw mut attr, tid.cast_signed(), -1, -1, flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that has no other owner.
        let file = beyond_standard_streams(unsafe { File::from_raw_fd(descriptor) })?;
        let event = Self { file, kernel, ring: None, stays };
        OPEN.fetch_add(1, Ordering::Relaxed);
        Ok(event)
    }

    /// Starts the signals.
    pub fn start(&self) -> io::Result<()> {
        // SAFETY: the descriptor is a perf event; the request takes no argument that matters.
        let done = unsafe { sys::ioctls::ENABLE(self.descriptor(), 0) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Stops the event until it is started again. A failure is ignored.
    pub fn stop(&self) {
        // SAFETY: as above.
        unsafe { sys::ioctls::DISABLE(self.descriptor(), 0) };
    }

    /// Sets the period of the signals, at once or from the start on. It is for an event that no
    /// handler finds.
    pub fn repeat(&self, period: Duration) {
        let mut period = nanos(period);
        // SAFETY: the descriptor is a perf event, and the request reads one u64 through its
        // argument.
        unsafe { sys::ioctls::PERIOD(self.descriptor(), (&raw mut period).expose_provenance() as u64) };
    }

    /// Returns the descriptor, by which the handler finds the event.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Returns true if the event does not count the thread's kernel time.
    pub fn user_only(&self) -> bool {
        self.kernel == Kernel::Hidden
    }

    /// Returns the address of the ring with the kernel's frames, or 0 without one.
    pub fn kernel_ring(&self) -> usize {
        self.ring.as_ref().map_or(0, KernelRing::address)
    }

    /// Makes each overflow send the sampling signal to thread `tid`.
    fn signal(&self, tid: u32) -> io::Result<()> {
        let descriptor = self.descriptor();
        let owner = Owner { kind: F_OWNER_TID, id: tid.cast_signed() };
        // SAFETY: all three are requests on this event's descriptor, and the second reads one
        // `Owner`.
        let done = unsafe {
            libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) >= 0
                && libc::fcntl(descriptor, F_SETOWN_EX, &raw const owner) >= 0
                && libc::fcntl(descriptor, F_SETSIG, signal_number::get()) >= 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // A child that was forked meanwhile without an exec has the descriptor, too. The event
        // would run as long as that child lives.
        if !self.stays {
            self.stop();
        }
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the attributes of a software event.
fn attributes(config: u64, kernel: Kernel) -> perf_event_attr {
    let mut attr = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(0),
        config,
        ..perf_event_attr::default()
    };
    attr.set_exclude_hv(1);
    attr.set_exclude_kernel((kernel == Kernel::Hidden).into());
    if kernel == Kernel::Frames {
        // The newest record is where the head points, so that a handler need not read the others.
        attr.set_write_backward(1);
        attr.sample_type = u64::from(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER);
        attr.set_exclude_callchain_user(1);
        attr.sample_regs_user = 1 << USER_PC_REGISTER;
    }
    attr
}

/// Returns the maximum number of descriptors of the process.
fn most_descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_though_somebody_else_has_its_descriptor() {
        let tid = crate::clock::own_tid();
        // No signal is needed: the kernel's count is enough.
        let Ok(event) = Event::silent(tid, Duration::from_secs(100), Kernel::Hidden) else { return };
        event.start().unwrap();
        let child = event.file.try_clone().unwrap();
        let count = || {
            let mut count = [0_u8; 8];
            std::io::Read::read_exact(&mut &child, &mut count).unwrap();
            u64::from_ne_bytes(count)
        };
        let burn = || {
            let until = crate::clock::own_cpu() + 3_000_000;
            while crate::clock::own_cpu() < until {}
        };
        burn();
        assert!(count() > 0, "it counts");
        drop(event);
        let ended = count();
        burn();
        assert_eq!(count(), ended, "nobody has stopped it");
    }
}
