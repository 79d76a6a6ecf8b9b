//! Engines: what makes the kernel send SIGPROF to the thread that burns the CPU.
//!
//! | engine | what it is | what one signal weighs |
//! |---|---|---|
//! | `perf` | a cpu-clock event per thread, on a high-resolution timer | one interval |
//! | `timer` | a POSIX CPU timer per thread, looked at once a kernel tick | one, and its overrun |
//! | `itimer` | ITIMER_PROF, one for the process | what the thread that it met ran since its last sample |
//! | `poll` | threads of the agent that signal the threads that run | the time since the last look |
//! | `hammer` | for the soak: a thread that signals each thread that has run | what that ran since its last sample |
//!
//! An engine knows nothing of the JVM, and what it armed it disarms when it is dropped.

pub mod bias;
pub mod choose;
pub mod cost;
mod hammer;
mod itimer;
mod kernel;
pub mod perf;
pub mod poll;
mod queue;
mod timer;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many perf events were replaced by timers, in the life of the process.
static REPLACED: AtomicU64 = AtomicU64::new(0);

/// See [`Engine::arm`].
pub fn replaced() -> u64 {
    REPLACED.load(Ordering::Relaxed)
}

/// The CPU time that threads of engines have had, in nanoseconds.
pub fn cpu() -> u64 {
    hammer::cpu().saturating_add(poll::cpu())
}

/// An engine that has been found to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Without the kernel's own time where the system forbids it.
    Perf {
        user_only: bool,
    },
    Timer,
    Itimer,
    Poll,
    Hammer,
}

/// The engine of one thread. Dropping it disarms.
#[derive(Debug)]
pub enum Armed {
    Perf(perf::Event),
    Timer(timer::Timer),
    Watched(#[expect(dead_code, reason = "dropped to end the looks")] poll::Watch),
    /// What there is for the whole process meets the thread now and then.
    Process,
}

impl Engine {
    /// The engine's name in options and report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf { .. } => "perf",
            Self::Timer => "timer",
            Self::Itimer => "itimer",
            Self::Poll => "poll",
            Self::Hammer => "hammer",
        }
    }

    /// True if it does not see the time that a thread spends inside the kernel.
    pub fn user_only(self) -> bool {
        matches!(self, Self::Perf { user_only: true })
    }

    /// True if its threads rest after a walk that is dear, so that the program goes on as if
    /// nothing was.
    pub fn rests(self) -> bool {
        self != Self::Hammer
    }

    /// Makes the engine of thread `tid`, which does nothing yet. A perf event that cannot be had
    /// for want of descriptors is replaced by a timer, and counted.
    pub fn prepare(self, tid: u32, first: Duration) -> io::Result<Armed> {
        match self {
            Self::Perf { user_only } => match perf::Event::open(tid, first, user_only) {
                Ok(event) => Ok(Armed::Perf(event)),
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    REPLACED.fetch_add(1, Ordering::Relaxed);
                    Ok(Armed::Timer(timer::Timer::make(tid)?))
                }
                Err(error) => Err(error),
            },
            Self::Timer => Ok(Armed::Timer(timer::Timer::make(tid)?)),
            Self::Poll => Ok(Armed::Watched(poll::Watch::new(tid))),
            Self::Itimer | Self::Hammer => Ok(Armed::Process),
        }
    }

    /// Starts what the engine has for the whole process.
    pub fn arm_process(self, interval: Duration) -> io::Result<()> {
        match self {
            Self::Perf { .. } | Self::Timer => Ok(()),
            Self::Itimer => itimer::start(interval),
            Self::Poll => poll::start(interval),
            Self::Hammer => hammer::start(interval),
        }
    }

    /// Ends it.
    pub fn disarm_process(self) {
        match self {
            Self::Perf { .. } | Self::Timer => {}
            Self::Itimer => itimer::stop(),
            Self::Poll => poll::stop(),
            Self::Hammer => hammer::stop(),
        }
    }
}

impl Armed {
    /// Starts the signals, of which the first comes after `first`. A perf event goes on with that
    /// period: the handler sets the interval.
    pub fn start(&self, interval: Duration, first: Duration) -> io::Result<()> {
        match self {
            Self::Perf(event) => event.start(),
            Self::Timer(timer) => timer.start(interval, first),
            Self::Watched(_) | Self::Process => Ok(()),
        }
    }

    /// True if it has interrupts of its own, with which it can pause.
    pub fn pauses(&self) -> bool {
        matches!(self, Self::Perf(_))
    }

    /// No interrupts for a while; the present period goes on where it was.
    pub fn pause(&self) {
        if let Self::Perf(event) = self {
            event.stop();
        }
    }

    /// The end of a pause. Nothing can be done about a failure: the thread's next samples are
    /// settled at its end.
    pub fn resume(&self) {
        if let Self::Perf(event) = self {
            drop(event.start());
        }
    }

    /// For a thread without a slot, whose handler cannot set the period.
    pub fn repeat(&self, period: Duration) {
        if let Self::Perf(event) = self {
            event.repeat(period);
        }
    }

    /// By which the handler finds a perf event; -1 for what needs no handler's help.
    pub fn descriptor(&self) -> i32 {
        match self {
            Self::Perf(event) => event.descriptor(),
            Self::Timer(_) | Self::Watched(_) | Self::Process => -1,
        }
    }
}
