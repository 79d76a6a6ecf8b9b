//! Groups of tasks: the sums of time that the tasks of each group took. The threads that run the
//! tasks add them up.
//!
//! A thread has its own sums for each group of its tasks. Only that thread writes them, through a
//! direct buffer. Any thread may read them. The sums of a thread that exits go to the next thread,
//! which continues to add. So a group's value is the total over all threads. A thread without sums
//! adds to shared ones: it is virtual, or there are too many. Groups last as long as the process,
//! because the program keeps their numbers. Adding never waits. Getting sums takes a lock once.
//!
//! # Invariants
//!
//! **Invariant 32.** A group's values are of whole tasks, each once. A thread that is in a group
//! does not enter it again. A task is abandoned if its event loop was entered again. CPU time is
//! what the kernel says, or the clock of a thread that stayed on its processor. Held by:
//! `groups/tests.rs`; `java-tests/groups`, against the JVM's own thread clock.

pub mod cpu_graphs;
pub mod natives;
pub mod task;
#[cfg(test)]
mod tests;

use std::array;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

use once_cell::sync::{Lazy, OnceCell};
use parking_lot::Mutex;
use vouch_report::{GroupReport, LIMIT_COUNT};
use vouch_sampling::task_sums::{
    ABANDONED, CPU, LONG_CPU, LONG_WALL, TASKS, TaskSums, UNKNOWN, UNKNOWN_WALL, VALUE_COUNT, WALL,
};

use crate::library::requested;

/// The maximum number of groups, which is the same in the Java library.
const MAX_GROUPS: usize = 4_097;
/// The name of the first group. It contains all groups beyond the limit.
const OTHERS: &str = "[others]";
/// The maximum number of sums of threads. They take 16 MiB.
const MAX_THREAD_SUMS: usize = 1 << 16;

static GROUPS: Lazy<Groups> = Lazy::new(Groups::default);

/// Returns the groups of the process.
pub fn groups() -> &'static Groups {
    &GROUPS
}

#[derive(Debug)]
struct Group {
    name: String,
    shared: TaskSums,
    thread_sums: Mutex<ThreadSums>,
}

#[derive(Debug, Default)]
struct ThreadSums {
    all: Vec<&'static TaskSums>,
    /// The sums of threads that have exited.
    free: Vec<&'static TaskSums>,
}

impl Group {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), shared: TaskSums::default(), thread_sums: Mutex::default() }
    }

    /// Returns the sum of one value over all threads.
    fn sum(&self, thread_sums: &ThreadSums, which: usize) -> u64 {
        let all = thread_sums.all.iter().copied().chain([&self.shared]);
        all.map(|sums| sums.values()[which].load(Relaxed)).fold(0, u64::wrapping_add)
    }

    fn cpu(&self) -> u64 {
        self.sum(&self.thread_sums.lock(), CPU)
    }

    fn sums(&self) -> [u64; VALUE_COUNT] {
        let thread_sums = self.thread_sums.lock();
        array::from_fn(|which| self.sum(&thread_sums, which))
    }
}

/// All groups of the process.
#[derive(Debug)]
pub struct Groups {
    by_number: Box<[OnceCell<Group>]>,
    numbers: Mutex<HashMap<String, u32>>,
    /// The number of sums of threads.
    thread_sums: AtomicUsize,
    /// True once the program itself has asked for groups. It stays true.
    requested_by_program: AtomicBool,
    /// The sums of each group when the recording began.
    before: Mutex<Vec<[u64; VALUE_COUNT]>>,
}

impl Default for Groups {
    fn default() -> Self {
        let groups = Self {
            by_number: (0..MAX_GROUPS).map(|_| OnceCell::new()).collect(),
            numbers: Mutex::default(),
            thread_sums: AtomicUsize::new(0),
            requested_by_program: AtomicBool::new(false),
            before: Mutex::default(),
        };
        groups.number(OTHERS);
        groups
    }
}

impl Groups {
    /// Returns the number of a group, from 1. It is the first group's number if there are too many.
    pub fn number(&self, name: &str) -> u32 {
        let mut numbers = self.numbers.lock();
        if let Some(number) = numbers.get(name) {
            return *number;
        }
        let index = numbers.len();
        let (Some(free), Ok(number)) = (self.by_number.get(index), u32::try_from(index + 1)) else {
            return 1;
        };
        free.get_or_init(|| Group::new(name));
        numbers.insert(name.to_owned(), number);
        number
    }

    fn get(&self, number: u32) -> Option<&Group> {
        self.by_number.get(usize::try_from(number).ok()?.checked_sub(1)?)?.get()
    }

    fn defined(&self) -> impl Iterator<Item = &Group> {
        self.by_number.iter().map_while(OnceCell::get)
    }

    /// Returns sums of a group for one thread, or `None` if there are too many.
    pub fn take_thread_sums(&self, number: u32) -> Option<&'static TaskSums> {
        let mut thread_sums = self.get(number)?.thread_sums.lock();
        if let Some(free) = thread_sums.free.pop() {
            return Some(free);
        }
        if self.thread_sums.fetch_add(1, Relaxed) >= MAX_THREAD_SUMS {
            self.thread_sums.fetch_sub(1, Relaxed);
            return None;
        }
        let sums: &'static TaskSums = Box::leak(Box::default());
        thread_sums.all.push(sums);
        Some(sums)
    }

    /// Takes back the sums of a thread that runs no Java code any more.
    pub fn return_thread_sums(&self, number: u32, sums: &'static TaskSums) {
        if let Some(group) = self.get(number) {
            group.thread_sums.lock().free.push(sums);
        }
    }

    /// Records that the program wants groups from now on.
    pub fn request(&self) {
        self.requested_by_program.store(true, SeqCst);
        requested::set_requested(requested::GROUPS, true);
    }

    /// Begins a recording.
    pub fn begin(&self) {
        self.begin_period();
        requested::set_requested(requested::GROUPS, true);
    }

    /// Sums up anew, for a period of a recording that goes on.
    pub fn begin_period(&self) {
        *self.before.lock() = self.defined().map(Group::sums).collect();
    }

    /// Ends the recording.
    pub fn end(&self) {
        requested::set_requested(requested::GROUPS, false);
        // This check comes after the store. The program may ask at any time, and its request must
        // not be lost.
        if self.requested_by_program.load(SeqCst) {
            requested::set_requested(requested::GROUPS, true);
        }
    }

    /// Returns the sums of each group since the recording began, by its name.
    pub fn report(&self) -> BTreeMap<String, GroupReport> {
        let before = self.before.lock();
        let mut before = before.iter().copied().chain(std::iter::repeat([0; VALUE_COUNT]));
        let since = |group: &Group| {
            let then = before.next().unwrap_or([0; VALUE_COUNT]);
            let now = group.sums();
            let sums: [u64; VALUE_COUNT] = array::from_fn(|which| now[which].wrapping_sub(then[which]));
            (group.name.clone(), report(&sums))
        };
        self.defined().map(since).filter(|(_, report)| report.tasks + report.abandoned > 0).collect()
    }
}

fn report(sums: &[u64; VALUE_COUNT]) -> GroupReport {
    let millis = vouch_report::millis;
    // A task is counted at one limit only. A task that exceeds a limit also exceeds all lower ones,
    // so the counts are added up.
    let beyond =
        |limits: usize| array::from_fn(|limit| sums[limits + limit..limits + LIMIT_COUNT].iter().sum());
    GroupReport {
        tasks: sums[TASKS],
        abandoned: sums[ABANDONED],
        tasks_without_cpu: sums[UNKNOWN],
        wall_ms: millis(sums[WALL]),
        cpu_ms: millis(sums[CPU]),
        blocked_ms: millis(sums[WALL].saturating_sub(sums[UNKNOWN_WALL]).saturating_sub(sums[CPU])),
        tasks_of_ms: GroupReport::limits(beyond(LONG_WALL)),
        tasks_of_cpu_ms: GroupReport::limits(beyond(LONG_CPU)),
    }
}
