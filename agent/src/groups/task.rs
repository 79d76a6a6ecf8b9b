//! The event of a task that took long.

use vouch_recording::{Category, Figure, MarkKind, Unit};

use crate::events::event_type::Row;

/// A task is shown in the timeline if it took at least this time.
pub const SHOWN_NS: u64 = 10_000_000;
/// How many tasks are shown in a second.
pub const MAX_IN_A_SECOND: u64 = 200;

/// A task that took long.
pub static TASK: Row = Row::own(&MarkKind {
    key: "task",
    label: "Task",
    description: "A task of a group of the program's, which took 10 ms or more.",
    category: Category::Application,
    figures: &[
        Figure::text("group", "Group"),
        // Not known of a virtual thread's.
        Figure { key: "cpu", label: "CPU time, ms", unit: Unit::Decimal },
    ],
});
