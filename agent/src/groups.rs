//! Groups of tasks: the sums of time that the tasks of each group took. The threads that run the
//! tasks add them up.
//!
//! A thread has a cell for each group of its tasks. Only that thread writes the cell, through a
//! direct buffer. Any thread may read it. The cell of a thread that exits goes to the next thread,
//! which continues to add. So a group's sum is the sum of its cells. A thread without a cell adds
//! to a shared cell: it is virtual, or there are too many cells. Groups last as long as the
//! process, because the program keeps their numbers. Adding to a cell never waits. Getting a cell
//! takes a lock once.
//!
//! # Invariants
//!
//! **Invariant 32.** A group's values are of whole tasks, each once. A thread that is in a group
//! does not enter it again. A task is abandoned if its event loop was entered again. CPU time is
//! what the kernel says, or the clock of a thread that stayed on its processor. Held by:
//! `groups/tests.rs`; `java-tests/groups`, against the JVM's own thread clock.

pub mod natives;
pub mod spending;
pub mod switches;
pub mod task;
#[cfg(test)]
mod tests;

use std::array;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

use once_cell::sync::{Lazy, OnceCell};
use parking_lot::Mutex;
use vouch_report::{GroupReport, LIMIT_COUNT};

use crate::library::wanted;

/// The maximum number of groups, which is the same in the Java library.
const MOST: usize = 4_097;
/// The name of the first group. It contains all groups beyond the limit.
const OTHERS: &str = "[others]";
/// The maximum number of cells of threads. They take 16 MiB.
const MOST_CELLS: usize = 1 << 16;
// The indexes of a cell's values. The Java library uses the same ones.
const TASKS: usize = 0;
const WALL: usize = 1;
const CPU: usize = 2;
const ABANDONED: usize = 3;
const UNKNOWN: usize = 4;
const UNKNOWN_WALL: usize = 5;
const LONG_WALL: usize = 6;
const LONG_CPU: usize = LONG_WALL + LIMIT_COUNT;
/// The number of values in a cell.
pub const NUMBERS: usize = LONG_CPU + LIMIT_COUNT;

static GROUPS: Lazy<Groups> = Lazy::new(Groups::default);

/// Returns the groups of the process.
pub fn groups() -> &'static Groups {
    &GROUPS
}

/// The sums of a thread's tasks of a group. A cell is alone in its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Cell([AtomicU64; NUMBERS]);

impl Cell {
    pub fn numbers(&self) -> &[AtomicU64; NUMBERS] {
        &self.0
    }

    fn add(&self, which: usize, more: u64) {
        self.0[which].fetch_add(more, Relaxed);
    }

    /// Adds a task. It is for the shared cell; every other cell has a single writer.
    fn spend(&self, wall: u64, cpu: Option<u64>) {
        self.add(TASKS, 1);
        self.add(WALL, wall);
        if let Some(cpu) = cpu {
            self.add(CPU, cpu);
            self.count(LONG_CPU, cpu);
        } else {
            self.add(UNKNOWN, 1);
            self.add(UNKNOWN_WALL, wall);
        }
        self.count(LONG_WALL, wall);
    }

    /// Counts a time at the greatest limit that it exceeds.
    fn count(&self, limits: usize, took: u64) {
        if let Some(limit) = (took / 1_000_000).checked_ilog2() {
            self.add(limits + (limit as usize).min(LIMIT_COUNT - 1), 1);
        }
    }
}

#[derive(Debug)]
struct Group {
    name: String,
    shared: Cell,
    cells: Mutex<Cells>,
}

#[derive(Debug, Default)]
struct Cells {
    all: Vec<&'static Cell>,
    /// The cells of threads that have exited.
    free: Vec<&'static Cell>,
}

impl Group {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), shared: Cell::default(), cells: Mutex::default() }
    }

    /// Returns the sum of one value over all of these cells.
    fn sum(&self, cells: &Cells, which: usize) -> u64 {
        let all = cells.all.iter().copied().chain([&self.shared]);
        all.map(|cell| cell.0[which].load(Relaxed)).fold(0, u64::wrapping_add)
    }

    fn cpu(&self) -> u64 {
        self.sum(&self.cells.lock(), CPU)
    }

    fn sums(&self) -> [u64; NUMBERS] {
        let cells = self.cells.lock();
        array::from_fn(|which| self.sum(&cells, which))
    }
}

/// All groups of the process.
#[derive(Debug)]
pub struct Groups {
    by_number: Box<[OnceCell<Group>]>,
    numbers: Mutex<HashMap<String, u32>>,
    /// The number of cells of threads.
    cells: AtomicUsize,
    /// True once the program itself has asked for groups. It stays true.
    asked: AtomicBool,
    /// The sums of each group when the recording began.
    before: Mutex<Vec<[u64; NUMBERS]>>,
}

impl Default for Groups {
    fn default() -> Self {
        let groups = Self {
            by_number: (0..MOST).map(|_| OnceCell::new()).collect(),
            numbers: Mutex::default(),
            cells: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
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
        let place = numbers.len();
        let (Some(free), Ok(number)) = (self.by_number.get(place), u32::try_from(place + 1)) else {
            return 1;
        };
        free.get_or_init(|| Group::new(name));
        numbers.insert(name.to_owned(), number);
        number
    }

    fn get(&self, number: u32) -> Option<&Group> {
        self.by_number.get(usize::try_from(number).ok()?.checked_sub(1)?)?.get()
    }

    fn known(&self) -> impl Iterator<Item = &Group> {
        self.by_number.iter().map_while(OnceCell::get)
    }

    /// Returns a cell of a group for one thread, or `None` if there are too many.
    pub fn cell(&self, number: u32) -> Option<&'static Cell> {
        let mut cells = self.get(number)?.cells.lock();
        if let Some(free) = cells.free.pop() {
            return Some(free);
        }
        if self.cells.fetch_add(1, Relaxed) >= MOST_CELLS {
            self.cells.fetch_sub(1, Relaxed);
            return None;
        }
        let cell: &'static Cell = Box::leak(Box::default());
        cells.all.push(cell);
        Some(cell)
    }

    /// Takes back the cell of a thread that runs no Java code any more.
    pub fn give_back(&self, number: u32, cell: &'static Cell) {
        if let Some(group) = self.get(number) {
            group.cells.lock().free.push(cell);
        }
    }

    /// Records that the program wants groups from now on.
    pub fn want(&self) {
        self.asked.store(true, SeqCst);
        wanted::want(wanted::GROUPS, true);
    }

    /// Begins a recording.
    pub fn begin(&self) {
        *self.before.lock() = self.known().map(Group::sums).collect();
        wanted::want(wanted::GROUPS, true);
    }

    /// Ends the recording.
    pub fn end(&self) {
        wanted::want(wanted::GROUPS, false);
        // This check comes after the store. The program may ask at any time, and its request must
        // not be lost.
        if self.asked.load(SeqCst) {
            wanted::want(wanted::GROUPS, true);
        }
    }

    /// Returns the sums of each group since the recording began, by its name.
    pub fn report(&self) -> BTreeMap<String, GroupReport> {
        let before = self.before.lock();
        let mut before = before.iter().copied().chain(std::iter::repeat([0; NUMBERS]));
        let since = |group: &Group| {
            let then = before.next().unwrap_or([0; NUMBERS]);
            let now = group.sums();
            let sums: [u64; NUMBERS] = array::from_fn(|which| now[which].wrapping_sub(then[which]));
            (group.name.clone(), report(&sums))
        };
        self.known().map(since).filter(|(_, report)| report.tasks + report.abandoned > 0).collect()
    }
}

fn report(sums: &[u64; NUMBERS]) -> GroupReport {
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
