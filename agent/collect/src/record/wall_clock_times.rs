//! Adds up wall-clock time by state.

use std::collections::BTreeMap;

use foldhash::HashMap;
use vouch_recording::WaitState;
use vouch_report::{WallClockReport, millis};
use vouch_sample::{Head, MethodId};

/// The wall-clock time of a recording, by state. All times are in nanoseconds.
#[derive(Debug, Default)]
pub struct WallClockTimes {
    interval_ns: u64,
    pub(super) by_state: BTreeMap<WaitState, u64>,
    /// The states of threads by the method that they are in. `None` if the method does not show it.
    pub(super) methods: HashMap<MethodId, Option<WaitState>>,
}

impl WallClockTimes {
    /// Makes empty sums. `interval_ns` is the time that a CPU sample of weight 1 stands for.
    pub fn new(interval_ns: u64) -> Self {
        Self { interval_ns, ..Self::default() }
    }

    /// Returns the wall-clock time that a CPU sample stands for.
    pub(super) fn of_sample(&self, head: &Head) -> u64 {
        self.interval_ns.saturating_mul(head.weight.into())
    }

    /// Returns the report of threads with this elapsed and running time.
    pub fn report(&self, looks: u64, elapsed: u64, ran: u64) -> WallClockReport {
        let state_ms = WaitState::ALL.iter().map(|state| {
            let waited = self.by_state.get(state).copied().unwrap_or(0);
            (state.key().to_owned(), millis(waited))
        });
        WallClockReport {
            looks,
            elapsed_ms: millis(elapsed),
            running_ms: millis(ran),
            state_ms: state_ms.collect(),
        }
    }
}
