//! The errors of this crate: why threads cannot be sampled in the requested way.

use std::io;

use thiserror::Error;

use crate::signal::Signal;

const QUEUED: &str = "a perf event may send SIGIO for a queued signal, and end the process";

/// The reason why threads cannot be sampled in the requested way.
#[derive(Debug, Error)]
pub enum Error {
    #[error("engine=itimer has only SIGPROF: signal={0} needs engine=perf or engine=timer")]
    SignalOfItimer(Signal),
    #[error("engine=perf cannot use signal={0}: {queued}; use engine=timer or signal=SIGUSR1", queued = QUEUED)]
    SignalOfPerf(Signal),
    #[error("engine={engine} does not work here: {why}; try engine=auto")]
    Engine { engine: &'static str, why: Obstacle },
    #[error("no engine works here with signal={signal}: {}", notes.join("; "))]
    NoEngine { signal: Signal, notes: Vec<String> },
    #[error("another copy of Vouch is loaded in this JVM: use that one")]
    OtherCopy,
    #[error(
        "{0} is taken: another profiler or the program has a handler for it in this JVM, and some profilers leave theirs \
         when they end; use one profiler at a time, and if the other one has ended restart the JVM or sample by another \
         signal, such as signal={proposal}",
        proposal = .0.proposal()
    )]
    SignalTaken(Signal),
    #[error("the handler of {signal} could not be installed: {error}")]
    Handler { signal: Signal, error: io::Error },
}

/// The reason why one engine does not work here. Its text is the rest of a sentence that names the
/// engine.
#[derive(Debug, Error)]
pub enum Obstacle {
    #[error("{0} forbids it (2 or less allows it)")]
    PerfParanoid(String),
    #[error("the system forbids perf_event_open (a container's seccomp filter does that)")]
    PerfForbidden,
    #[error("the kernel has no perf_event_open, or a seccomp filter hides it")]
    PerfUnknown,
    #[error("the process has no free file descriptor")]
    NoDescriptor,
    #[error("perf_event_open failed: {0}")]
    Perf(io::Error),
    /// The danger of perf events on the running kernel.
    #[error("{0}")]
    DangerousKernel(String),
    #[error("{queued} (signal={0})", queued = QUEUED)]
    QueuedSignal(Signal),
    #[error("it needs two processors, and this process may use one")]
    OneProcessor,
    #[error("no more timers are allowed: raise `ulimit -i`")]
    NoTimers,
    #[error("timer_create failed: {0}")]
    Timer(io::Error),
}
