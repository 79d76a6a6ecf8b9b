//! Reports where the samples of an engine are biased, for the summary and for `vouch doctor`.

use vouch_report::grouped;

use super::Engine;

/// Threads that wait more often than this in a second of CPU time run for under a quarter of a
/// kernel tick of 4 ms.
const FREQUENT_WAITS: u32 = 1_000;
/// Waits a second. A thread that waits more often runs so briefly between two waits that a poller
/// often misses it: for less than ten times as long as the poller needs to find a thread.
const VERY_FREQUENT_WAITS: u32 = 10_000;

/// The bias of an engine within threads that wait often.
#[derive(Debug, Clone, Copy)]
pub struct Bias {
    /// Threads that wait more often than this in a second of CPU time are sampled with it.
    pub max_waits: u32,
    /// A predicate; its subject is the engine.
    pub why: &'static str,
}

impl Bias {
    pub const OF_TICKS: Self = Self { max_waits: FREQUENT_WAITS, why: "samples at the kernel's ticks" };
    const OF_POLLERS: Self =
        Self { max_waits: VERY_FREQUENT_WAITS, why: "may look too late for threads that run so briefly" };

    /// Returns the bias of any recording with this engine.
    pub fn from_engine(engine: Engine) -> Option<Self> {
        match engine {
            Engine::Timer | Engine::Itimer => Some(Self::OF_TICKS),
            Engine::Poll => Some(Self::OF_POLLERS),
            Engine::Perf { .. } | Engine::External(_) => None,
        }
    }

    /// Returns one line for the list of engines to choose from.
    pub fn line(self, engine: Engine) -> String {
        format!(
            "engine={} {}: shares of methods are biased within threads that wait more than {} times in a second of CPU \
             time (docs/production.md)",
            engine.name(),
            self.why,
            grouped(self.max_waits.into())
        )
    }
}
