//! Reads from the siginfo why a signal came.
//!
//! The weight of a sample follows from the cause, so a cause must state no more than the siginfo
//! does.

use core::sync::atomic::Ordering;

use crate::sampler::{GATE, STRIDE};

/// The `si_code` of a POSIX timer's signal. `libc` has no name for it.
const SI_TIMER: i32 = -2;

/// The index of the value in a siginfo of SI_QUEUE, counted in words.
pub const SIGINFO_VALUE_WORD: usize = 3;
/// The index of the sender's uid in a siginfo of SI_QUEUE, counted in `u32`. The agent's own
/// signals have their weight instead of a uid there.
pub const SIGINFO_WEIGHT_U32: usize = 5;

/// Returns the value that marks the agent's own signals. It is an address of this library, so no
/// program sends it by accident.
pub fn marker() -> usize {
    (&raw const GATE).addr()
}

/// The cause of a signal, as far as the sample's weight depends on it.
#[derive(Debug)]
pub enum Cause {
    /// The signal came from a perf event of the thread.
    Perf,
    /// The signal came from a POSIX timer of the thread, which overran this number of intervals.
    Timer { overrun: u32 },
    /// The signal came from ITIMER_PROF, the timer of the process. The kernel delivered it to this
    /// thread.
    ProcessTimer,
    /// The agent sent the signal, because it found this thread running. The sample weighs `weight`
    /// intervals; 0 means all intervals that the thread ran.
    AgentSignal { weight: u32 },
    /// The thread sent the signal to itself, at its end. The weight is in its slot.
    ThreadEnd,
    /// Another program or library sent a SIGPROF. It is no sample.
    Foreign,
}

impl Cause {
    /// Reads the cause of the signal that is being handled.
    ///
    /// # Safety
    /// `info` must be the siginfo of that signal.
    pub unsafe fn read(info: *const libc::siginfo_t) -> Self {
        // SAFETY: the caller promised that this is the siginfo of the signal at hand.
        let code = unsafe { (*info).si_code };
        match code {
            SI_TIMER => {
                // The timer's id and then its overrun follow the three leading ints and one int of
                // padding. SAFETY: a siginfo is 128 bytes, and SI_TIMER means that this member of
                // its union is set.
                let overrun = unsafe { info.cast::<i32>().add(5).read() };
                Self::Timer { overrun: overrun.max(0).cast_unsigned() }
            }
            libc::SI_KERNEL => Self::ProcessTimer,
            libc::SI_TKILL => Self::ThreadEnd,
            // SAFETY: a siginfo is 128 bytes, and SI_QUEUE means that its value is set.
            libc::SI_QUEUE if unsafe { info.cast::<usize>().add(SIGINFO_VALUE_WORD).read() } == marker() => {
                // SAFETY: a siginfo is 128 bytes, and SI_QUEUE means that its uid is set.
                Self::AgentSignal { weight: unsafe { info.cast::<u32>().add(SIGINFO_WEIGHT_U32).read() } }
            }
            // A perf event signals the owner of its descriptor with POLL_IN and similar codes,
            // which are all positive.
            code if code > 0 => Self::Perf,
            // The kernel had no memory for the rest of the siginfo. Then the sender's pid is 0 as
            // well. SAFETY: a siginfo is 128 bytes, and SI_USER has the pid where a timer has its
            // id.
            libc::SI_USER if unsafe { info.cast::<i32>().add(4).read() } == 0 => Self::Perf,
            _ => Self::Foreign,
        }
    }

    /// Returns the weight that the signal alone gives, for a thread without a slot. Such a thread
    /// is beginning, has just ended, or found the table full.
    pub fn weight_without_slot(&self) -> Option<u32> {
        match self {
            Self::Perf => Some(STRIDE.load(Ordering::Relaxed)),
            Self::Timer { overrun } => Some(overrun.saturating_add(1)),
            Self::AgentSignal { weight } => Some(*weight).filter(|weight| *weight > 0),
            Self::ProcessTimer | Self::ThreadEnd | Self::Foreign => None,
        }
    }
}
