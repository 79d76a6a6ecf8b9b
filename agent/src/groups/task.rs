//! The event of a long task.

use vouch_recording::{Category, MarkerField, MarkerKind, Unit};

use crate::events::event_type::Row;

/// The shortest duration of a task that the timeline shows.
pub const MIN_SHOWN_NS: u64 = 10_000_000;
/// The maximum number of tasks that are shown per second.
pub const MAX_IN_A_SECOND: u64 = 200;

/// The event type of a long task.
pub static TASK: Row = Row::own(&MarkerKind {
    key: "task",
    label: "Task",
    description: "A task of a group of the program's, which took 10 ms or more.",
    category: Category::Application,
    fields: &[
        MarkerField::text("group", "Group"),
        // The CPU time of a virtual thread's task is unknown.
        MarkerField { key: "cpu", label: "CPU time, ms", unit: Unit::Decimal },
    ],
});
