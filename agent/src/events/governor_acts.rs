//! The governor's actions on the timeline: when there were no samples, and from when on they are
//! rarer.

use vouch_recording::{Category, MarkerField, MarkerKind, Unit};
use vouch_sampling::governor::act::Act;

use super::event_type::Row;

/// The engine paused, to find the cause of a storm.
pub static PAUSED: Row = Row::own(&MarkerKind {
    key: "vouch_paused",
    label: "Sampling paused",
    description: "The engine paused, to see whether it is to blame for what this machine suffers from. What threads ran \
                      meanwhile is in their next samples.",
    category: Category::Other,
    fields: &[],
});

/// Signals come less often from here on.
pub static LENGTHENED: Row = Row::own(&MarkerKind {
    key: "vouch_lengthened",
    label: "Sampling more rarely",
    description: "From here on a sample has more CPU time: more samples would have cost this machine or program too much.",
    category: Category::Other,
    fields: &[MarkerField {
        key: "interval",
        label: "CPU time from sample to sample",
        unit: Unit::Nanoseconds,
    }],
});

/// Signals come from timers from here on.
pub static RELIEVED: Row = Row::own(&MarkerKind {
    key: "vouch_relieved",
    label: "Sampling by timers",
    description: "From here on samples come with the kernel's ticks: perf's events would have cost this program too much at each switch from thread \
                  to thread.",
    category: Category::Other,
    fields: &[],
});

/// There are no samples from here on.
pub static STOPPED: Row = Row::own(&MarkerKind {
    key: "vouch_stopped",
    label: "Sampling stopped",
    description: "What the program does from here on is not sampled: the engine did this machine harm.",
    category: Category::Other,
    fields: &[],
});

/// Publishes an act as an event of the whole process.
pub fn publish(act: Act) {
    match act {
        Act::Paused { began, ended } => PAUSED.emit_for_process(began, ended, [], ""),
        Act::Lengthened { at, period_ns } => LENGTHENED.emit_for_process(at, at, [period_ns], ""),
        Act::Relieved { at } => RELIEVED.emit_for_process(at, at, [], ""),
        Act::Stopped { at } => STOPPED.emit_for_process(at, at, [], ""),
    }
}
