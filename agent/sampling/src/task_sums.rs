//! The sums of a thread's tasks of one group, which the thread's Java code adds up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vouch_report::LIMIT_COUNT;

// The indexes of the values in `TaskSums`. The Java library uses the same ones.
pub const TASKS: usize = 0;
pub const WALL: usize = 1;
pub const CPU: usize = 2;
pub const ABANDONED: usize = 3;
pub const UNKNOWN: usize = 4;
pub const UNKNOWN_WALL: usize = 5;
pub const LONG_WALL: usize = 6;
pub const LONG_CPU: usize = LONG_WALL + LIMIT_COUNT;
/// The number of values in `TaskSums`.
pub const VALUE_COUNT: usize = LONG_CPU + LIMIT_COUNT;

/// The sums of a thread's tasks of a group. They are alone in their cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct TaskSums([AtomicU64; VALUE_COUNT]);

impl TaskSums {
    pub fn values(&self) -> &[AtomicU64; VALUE_COUNT] {
        &self.0
    }

    /// Adds to one value.
    pub fn add(&self, which: usize, more: u64) {
        self.0[which].fetch_add(more, Relaxed);
    }

    /// Adds a task. It is for shared sums; all others have a single writer.
    pub fn add_task(&self, wall: u64, cpu: Option<u64>) {
        self.add(TASKS, 1);
        self.add(WALL, wall);
        if let Some(cpu) = cpu {
            self.add(CPU, cpu);
            self.count_in_limits(LONG_CPU, cpu);
        } else {
            self.add(UNKNOWN, 1);
            self.add(UNKNOWN_WALL, wall);
        }
        self.count_in_limits(LONG_WALL, wall);
    }

    /// Counts a time at the greatest limit that it exceeds.
    fn count_in_limits(&self, limits: usize, took: u64) {
        if let Some(limit) = (took / 1_000_000).checked_ilog2() {
            self.add(limits + (limit as usize).min(LIMIT_COUNT - 1), 1);
        }
    }
}
