//! Groups of tasks: what the tasks of each have taken, as the threads that did them add it up.
//!
//! A thread has a cell for each group that it does tasks of: numbers that it alone writes, through
//! a direct buffer, and anybody reads. A cell that its thread has no more use for is the next
//! thread's, which goes on adding: so a group's sum is that of its cells. Who has no cell (a
//! virtual thread; too many) adds to one that all share. Groups last as long as the process, since
//! the program keeps their numbers. Nobody who adds to a cell waits for anybody; to get one takes a
//! lock, once.
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

/// So many are told apart, as the library does.
const MOST: usize = 4_097;
/// The name of the first, which is that of those that are too many.
const OTHERS: &str = "[others]";
/// So many cells of threads: 16 MiB.
const MOST_CELLS: usize = 1 << 16;
// Which number of a cell is which. Both sides have agreed upon these.
const TASKS: usize = 0;
const WALL: usize = 1;
const CPU: usize = 2;
const ABANDONED: usize = 3;
const UNKNOWN: usize = 4;
const UNKNOWN_WALL: usize = 5;
const LONG_WALL: usize = 6;
const LONG_CPU: usize = LONG_WALL + LIMIT_COUNT;
/// Numbers of a cell.
pub const NUMBERS: usize = LONG_CPU + LIMIT_COUNT;

static GROUPS: Lazy<Groups> = Lazy::new(Groups::default);

/// Those of the process.
pub fn groups() -> &'static Groups {
    &GROUPS
}

/// What a thread's tasks of a group have taken. It is alone in its cache lines.
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

    /// One task more. For the cell that all share; of the others each has one that writes.
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

    /// Counts a time at the greatest limit that it is longer than.
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
    /// Of those, whose threads are gone.
    free: Vec<&'static Cell>,
}

impl Group {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), shared: Cell::default(), cells: Mutex::default() }
    }

    /// One of its numbers, of all these cells.
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

/// All groups.
#[derive(Debug)]
pub struct Groups {
    by_number: Box<[OnceCell<Group>]>,
    numbers: Mutex<HashMap<String, u32>>,
    /// Cells of threads that there are.
    cells: AtomicUsize,
    /// The program itself does, once and for all.
    asked: AtomicBool,
    /// What they were when the recording began.
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
    /// The number of a group, from 1; that of the others if there are too many.
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

    /// A cell of a group, for one thread; `None` if there are too many.
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

    /// Takes the cell of a thread back that runs no Java any more.
    pub fn give_back(&self, number: u32, cell: &'static Cell) {
        if let Some(group) = self.get(number) {
            group.cells.lock().free.push(cell);
        }
    }

    /// From here on the program wants them.
    pub fn want(&self) {
        self.asked.store(true, SeqCst);
        wanted::want(wanted::GROUPS, true);
    }

    /// A recording begins.
    pub fn begin(&self) {
        *self.before.lock() = self.known().map(Group::sums).collect();
        wanted::want(wanted::GROUPS, true);
    }

    /// It ends.
    pub fn end(&self) {
        wanted::want(wanted::GROUPS, false);
        // Looked at behind that: the program may ask at any time, and is not to be forgotten.
        if self.asked.load(SeqCst) {
            wanted::want(wanted::GROUPS, true);
        }
    }

    /// What the tasks of each group have taken since the recording began, by its name.
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
    // Each limit is of those that took longer than it, so also of those that took longer than the
    // next.
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
