//! Engines make the kernel send SIGPROF to the thread that uses the CPU.
//!
//! | engine | what it is | what one signal weighs |
//! |---|---|---|
//! | `perf` | a cpu-clock event per thread, on a high-resolution timer | one interval |
//! | `timer` | a POSIX CPU timer per thread, checked once a kernel tick | one, and its overrun |
//! | `itimer` | ITIMER_PROF, one for the process | the thread's CPU time since its last sample |
//! | `poll` | agent threads that signal the threads that run | the time since the last look |
//!
//! An engine uses nothing of the JVM. Dropping what it armed disarms it. Another crate can add an
//! [`ExternalEngine`].

pub mod bias;
pub mod choose;
pub mod cost;
mod external;
mod itimer;
mod kernel;
pub mod kernel_ring;
mod own_cpu;
pub mod perf;
pub mod poll;
pub mod queue;
mod timer;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use self::external::ExternalEngine;
pub use self::own_cpu::{add_cpu, cpu};

/// How many perf events were replaced by timers since the process started.
static REPLACED: AtomicU64 = AtomicU64::new(0);

/// Returns how many perf events were replaced by timers; see [`Engine::prepare`].
pub fn replaced() -> u64 {
    REPLACED.load(Ordering::Relaxed)
}

/// An engine that works on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The perf event.
    Perf {
        kernel: perf::Kernel,
    },
    Timer,
    Itimer,
    Poll,
    External(&'static dyn ExternalEngine),
}

/// The engine of one thread. Dropping it disarms the thread.
#[derive(Debug)]
pub enum Armed {
    Perf(perf::Event),
    Timer(timer::Timer),
    Watched(poll::Watch),
    /// The engine works for the whole process and needs nothing for this thread.
    Process,
}

impl Engine {
    /// Returns the engine's name in options and report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf { .. } => "perf",
            Self::Timer => "timer",
            Self::Itimer => "itimer",
            Self::Poll => "poll",
            Self::External(engine) => engine.name(),
        }
    }

    /// Returns true if the engine does not see the time that a thread spends inside the kernel.
    pub fn user_only(self) -> bool {
        matches!(self, Self::Perf { kernel: perf::Kernel::Hidden })
    }

    /// Returns this engine with the kernel's frames in its samples. The result is `None` if the
    /// engine does not see the kernel.
    #[must_use]
    pub fn with_kernel_frames(self) -> Option<Self> {
        match self {
            Self::Perf { kernel: perf::Kernel::Time | perf::Kernel::Frames } => {
                Some(Self::Perf { kernel: perf::Kernel::Frames })
            }
            Self::Perf { kernel: perf::Kernel::Hidden }
            | Self::Timer
            | Self::Itimer
            | Self::Poll
            | Self::External(_) => None,
        }
    }

    /// Returns true if threads rest after a slow walk under this engine, so that walks do not hold
    /// the program up.
    pub fn rests(self) -> bool {
        !matches!(self, Self::External(engine) if !engine.rests())
    }

    /// Makes the engine of thread `tid`, not started yet. If the process has no descriptor for a
    /// perf event, a timer replaces it, and is counted.
    pub fn prepare(self, tid: u32, first: Duration) -> io::Result<Armed> {
        match self {
            Self::Perf { kernel } => match perf::Event::open(tid, first, kernel) {
                Ok(event) => Ok(Armed::Perf(event)),
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    REPLACED.fetch_add(1, Ordering::Relaxed);
                    Ok(Armed::Timer(timer::Timer::make(tid)?))
                }
                Err(error) => Err(error),
            },
            Self::Timer => Ok(Armed::Timer(timer::Timer::make(tid)?)),
            Self::Poll => Ok(Armed::Watched(poll::Watch::new(tid))),
            Self::Itimer | Self::External(_) => Ok(Armed::Process),
        }
    }

    /// Starts the part of the engine that works for the whole process.
    pub fn arm_process(self, interval: Duration) -> io::Result<()> {
        match self {
            Self::Perf { .. } | Self::Timer => Ok(()),
            Self::Itimer => itimer::start(interval),
            Self::Poll => poll::start(interval),
            Self::External(engine) => engine.start(interval),
        }
    }

    /// Stops the part of the engine that works for the whole process.
    pub fn disarm_process(self) {
        match self {
            Self::Perf { .. } | Self::Timer => {}
            Self::Itimer => itimer::stop(),
            Self::Poll => poll::stop(),
            Self::External(engine) => engine.stop(),
        }
    }
}

impl Armed {
    /// Starts the signals; the first comes after `first`. A perf event repeats that period until
    /// the handler sets the interval.
    pub fn start(&self, interval: Duration, first: Duration) -> io::Result<()> {
        match self {
            Self::Perf(event) => event.start(),
            Self::Timer(timer) => timer.start(interval, first),
            Self::Watched(_) | Self::Process => Ok(()),
        }
    }

    /// Returns true if the engine has its own interrupts, and can therefore pause.
    pub fn pauses(&self) -> bool {
        matches!(self, Self::Perf(_))
    }

    /// Pauses the interrupts. The present period continues later from where it stopped.
    pub fn pause(&self) {
        if let Self::Perf(event) = self {
            event.stop();
        }
    }

    /// Ends a pause. A failure is ignored: the thread's next samples are settled at its end.
    pub fn resume(&self) {
        if let Self::Perf(event) = self {
            drop(event.start());
        }
    }

    /// Sets the period for a thread without a slot, because its handler cannot set it.
    pub fn repeat(&self, period: Duration) {
        if let Self::Perf(event) = self {
            event.repeat(period);
        }
    }

    /// Returns the descriptor by which the handler finds a perf event; -1 if the engine needs no
    /// help from the handler.
    pub fn descriptor(&self) -> i32 {
        match self {
            Self::Perf(event) => event.descriptor(),
            Self::Timer(_) | Self::Watched(_) | Self::Process => -1,
        }
    }

    /// Returns the address of the ring with the kernel's frames, or 0 if the engine has none.
    pub fn kernel_ring(&self) -> usize {
        match self {
            Self::Perf(event) => event.kernel_ring(),
            Self::Timer(_) | Self::Watched(_) | Self::Process => 0,
        }
    }
}
