//! Why a signal came: whose it is is told by what the kernel says of it, and it must never be taken
//! for more than that.

use core::sync::atomic::Ordering;

use crate::sampler::{GATE, STRIDE};

/// `si_code` of a POSIX timer; `libc` has no name for it.
const SI_TIMER: i32 = -2;

/// Where a siginfo of SI_QUEUE has its value, in words.
pub const VALUE_AT: usize = 3;
/// Where a siginfo of SI_QUEUE has the sender's user, counted in `u32`: the agent's own signals
/// have their weight there.
pub const WEIGHT_AT: usize = 5;

/// The value by which the agent's own signals are known: no program has it by accident.
pub fn mark() -> usize {
    (&raw const GATE).addr()
}

/// Why the signal came, as far as its weight depends on it.
#[derive(Debug)]
pub enum Cause {
    /// A perf event.
    Perf,
    /// A thread's own POSIX timer, and how many intervals it overran.
    Timer { overrun: u32 },
    /// ITIMER_PROF, which met this thread.
    Process,
    /// The agent, which saw that this thread ran. The sample weighs that many intervals; 0: as many
    /// as it ran for.
    Seen { weight: u32 },
    /// The thread itself, at its end: what the agent said that it owes.
    Own,
    /// Somebody else's SIGPROF: no sample.
    Foreign,
}

impl Cause {
    /// # Safety
    /// `info` must be the siginfo of the signal that is being handled.
    pub unsafe fn read(info: *const libc::siginfo_t) -> Self {
        // SAFETY: by the caller's promise.
        let code = unsafe { (*info).si_code };
        match code {
            SI_TIMER => {
                // Behind the three leading ints and one of padding: the timer's id, then its
                // overrun. SAFETY: a siginfo is 128 bytes, and SI_TIMER says that this member of
                // its union is set.
                let overrun = unsafe { info.cast::<i32>().add(5).read() };
                Self::Timer { overrun: overrun.max(0).cast_unsigned() }
            }
            libc::SI_KERNEL => Self::Process,
            libc::SI_TKILL => Self::Own,
            // SAFETY: as above; SI_QUEUE says that the value is set.
            libc::SI_QUEUE if unsafe { info.cast::<usize>().add(VALUE_AT).read() } == mark() => {
                // SAFETY: as above.
                Self::Seen { weight: unsafe { info.cast::<u32>().add(WEIGHT_AT).read() } }
            }
            // perf signals through the descriptor's owner: POLL_IN and its like, all positive.
            code if code > 0 => Self::Perf,
            // The kernel had no room for the rest of what it had to say: then the sender's pid is 0
            // as well. SAFETY: as above; SI_USER has the pid where a timer has its id.
            libc::SI_USER if unsafe { info.cast::<i32>().add(4).read() } == 0 => Self::Perf,
            _ => Self::Foreign,
        }
    }

    /// What a signal tells by itself, of a thread that has no slot: one that is about to begin or
    /// has just ended, or that there was no room for.
    pub fn weight_of_a_stranger(&self) -> Option<u32> {
        match self {
            Self::Perf => Some(STRIDE.load(Ordering::Relaxed)),
            Self::Timer { overrun } => Some(overrun.saturating_add(1)),
            Self::Seen { weight } => Some(*weight).filter(|weight| *weight > 0),
            Self::Process | Self::Own | Self::Foreign => None,
        }
    }
}
