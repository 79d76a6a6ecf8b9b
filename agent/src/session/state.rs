//! The state of a session.

use vouch_collect::record::Recorder;
use vouch_report::{LiveObjectsReport, WaitingReport};
use vouch_sampling::clock;
use vouch_sampling::engine;
use vouch_sampling::governor;

use super::counters::CounterGraphs;
use super::disk::Disk;
use super::periods::Periods;
use super::sampler_setup::SamplerSetup;
use crate::anchors::Anchors;
use crate::events;
use crate::events::totals::Totals;
use crate::facade::Jvmti;
use crate::jvm::live::JvmState;
use crate::lab_hooks::StackSource;
use crate::native::NativeTables;
use crate::plan::Plan;
use crate::walkers::Walkers;
use crate::wall_clock::WallClock;
use crate::worker;

/// The clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub(super) monotonic: u64,
    pub(super) epoch: u64,
    pub(super) process_cpu: u64,
    pub(super) agent_cpu: u64,
    /// How often threads of the process have waited for something.
    pub(super) waits: u64,
}

/// A recording that runs, or has just ended.
#[derive(Debug)]
pub struct Session {
    pub(super) plan: Plan,
    pub(super) sampler_setup: SamplerSetup,
    pub(super) recorder: Recorder,
    /// The tables for native frames. They are dropped after `sampler_setup`, when no
    /// handler can use them any more.
    pub(super) native: Option<NativeTables>,
    /// The wall-clock times of threads, if they are measured.
    pub(super) wall_clock: Option<WallClock>,
    pub(super) disk: Disk,
    /// When the recording began. `started` is the begin of the present period.
    pub(super) begun_ns: u64,
    /// The periods of `every=`.
    pub(super) periods: Option<Periods>,
    pub(super) questions: JvmState,
    /// The walkers that walk the samples' stacks.
    pub(super) walkers: Walkers,
    /// The reason why failed walks are not recovered.
    pub(super) unrecovered: Option<&'static str>,
    /// The source of stacks that replaces an engine, in tests.
    pub(super) source: Option<Box<dyn StackSource>>,
    /// The time of the last state report to `vouch`, in nanoseconds.
    pub(super) state_reported_ns: u64,
    /// True once it was reported that walks stopped after too many crashes.
    pub(super) said_stopped: bool,
    /// True once the program has taken the signal for itself.
    pub(super) signal_is_lost: bool,
    pub(super) started: Moment,
    /// How many thread contexts had been left out before this recording.
    pub(super) left_out_before: u64,
    pub(super) jvmti: Jvmti,
    /// The events that are recorded, and those that this JVM cannot report, as readable text.
    pub(super) events: events::Chosen,
    pub(super) unsupported_events: Option<String>,
    pub(super) counter_graphs: CounterGraphs,
    pub anchors: Anchors,
    /// The JVM's counts before this recording.
    pub(super) totals: Totals,
    /// The threads that wait for a lock, at the end or at a dump.
    pub(super) waiting: Vec<WaitingReport>,
    pub(super) live_objects: Option<LiveObjectsReport>,
}

impl Moment {
    pub fn now() -> Self {
        Self {
            monotonic: clock::monotonic(),
            epoch: clock::epoch(),
            process_cpu: clock::process_cpu(),
            agent_cpu: worker::cpu() + governor::cpu() + engine::cpu(),
            waits: clock::usage().ru_nvcsw.cast_unsigned(),
        }
    }
}
