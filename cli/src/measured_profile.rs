//! Reads a profile with the samples of one measure.
//!
//! It must read no table that another measure needs: a profile of a long run has many.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::counted::Counted;
use crate::document;
use crate::error::Error;
use crate::measure::Measure;
use crate::profile::{Document, Profile, Samples, Shared, Thread, pprof};

/// Reads a profile with the samples of this measure.
pub fn read(measure: Measure, file: &Path) -> Result<Profile, Error> {
    if let Some(profile) = pprof::read(file, measure)? {
        return Ok(profile);
    }
    match measure {
        Measure::Cpu => Profile::read(file),
        Measure::Alloc => read_allocations(file),
        Measure::Live => read_table::<LiveObjectThread>(measure, file),
        Measure::Wall => read_table::<WallClockThread>(measure, file),
        Measure::Lock | Measure::LockCount => read_table::<BlockedThread>(measure, file),
        Measure::Exception => read_table::<ExceptionThread>(measure, file),
    }
}

/// Reads a profile with its allocations as the samples. The frame on top is the class.
fn read_allocations(file: &Path) -> Result<Profile, Error> {
    let document: Document<AllocatingThread> = document::read(file, Error::NotAProfile)?;
    let Document { meta, mut shared, threads } = document;
    let stacks = shared.stacks();
    let is_whole = |thread: &AllocatingThread| {
        thread.js_allocations.as_ref().is_none_or(|allocations| allocations.is_whole(stacks))
    };
    if !shared.is_whole() || !threads.iter().all(is_whole) {
        return Err(Error::DamagedProfile(file.to_owned()));
    }
    let mut known = ClassStacks::default();
    let threads = threads.into_iter().map(|thread| {
        let AllocatingThread { name, tid, vouch_tids, js_allocations } = thread;
        let samples = js_allocations.unwrap_or_default().into_samples(&mut known, &mut shared);
        Thread { name, tid, vouch_tids, samples }
    });
    let threads = threads.collect();
    let profile = Profile::of_measure(file, Document { meta, shared, threads }, Some(Counted::ALLOCATED))?;
    if profile.samples().next().is_none() {
        return Err(Error::NoAllocations(file.to_owned()));
    }
    Ok(profile)
}

/// Reads a profile with the samples of one measure. Each row of their table is a sample.
fn read_table<T>(measure: Measure, file: &Path) -> Result<Profile, Error>
where
    T: DeserializeOwned + Into<(Thread, Option<Table>)>,
{
    let document: Document<T> = document::read(file, Error::NotAProfile)?;
    let Document { meta, shared, threads } = document;
    let threads = threads.into_iter().map(|thread| {
        let (mut thread, table) = thread.into();
        let Table { weight, vouch_events, stack, time, vouch_context } = table.unwrap_or_default();
        let weight = if measure.counts_events() { vouch_events.unwrap_or_default() } else { weight };
        thread.samples = Samples {
            stack,
            weight: Some(weight),
            vouch_context,
            time_deltas: Some(deltas(time)),
            counts: None,
        };
        thread
    });
    let threads = threads.collect();
    let profile = Profile::of_measure(file, Document { meta, shared, threads }, measure.counted())?;
    if profile.samples().next().is_none() {
        return Err(measure.missing(file));
    }
    Ok(profile)
}

/// Declares a thread with one of its tables, and without its samples of CPU time.
macro_rules! thread_with_table {
    ($($name:ident: $key:literal),+) => {
        $(
            #[derive(Deserialize)]
            struct $name {
                name: String,
                #[serde(default)]
                tid: Value,
                #[serde(rename = "vouchTids")]
                vouch_tids: Option<IgnoredAny>,
                #[serde(rename = $key)]
                table: Option<Table>,
            }

            impl From<$name> for (Thread, Option<Table>) {
                fn from($name { name, tid, vouch_tids, table }: $name) -> Self {
                    (Thread { name, tid, vouch_tids, samples: Samples::default() }, table)
                }
            }
        )+
    };
}

thread_with_table! {
    LiveObjectThread: "vouchLiveObjects",
    WallClockThread: "vouchWallClock",
    BlockedThread: "vouchLocks",
    ExceptionThread: "vouchExceptions"
}

/// A thread's samples of a measure.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    /// The amount of each sample, in the measure's unit.
    weight: Vec<u64>,
    /// The number of events that each sample stands for.
    vouch_events: Option<Vec<u64>>,
    stack: Vec<Option<usize>>,
    /// The time of each sample, in milliseconds.
    time: Vec<f64>,
    vouch_context: Option<Vec<Option<usize>>>,
}

/// Returns the time from each row to the next, from the times of the rows.
fn deltas(time: Vec<f64>) -> Vec<f64> {
    let mut last_ms = 0.0;
    time.into_iter().map(|time_ms| time_ms - std::mem::replace(&mut last_ms, time_ms)).collect()
}

/// A thread with its allocations, and without its samples of CPU time.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AllocatingThread {
    name: String,
    #[serde(default)]
    tid: Value,
    vouch_tids: Option<IgnoredAny>,
    js_allocations: Option<Allocations>,
}

/// The table of a thread's allocations, in the Firefox Profiler's format.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Allocations {
    class_name: Vec<String>,
    weight: Vec<u64>,
    stack: Vec<Option<usize>>,
    /// The time of each allocation, in milliseconds.
    time: Vec<f64>,
}

impl Allocations {
    /// True if all columns have the same length, and no stack is outside of the table of stacks.
    fn is_whole(&self, stacks: usize) -> bool {
        let Self { class_name, weight, stack, time } = self;
        [class_name.len(), weight.len(), time.len()].iter().all(|length| *length == stack.len())
            && stack.iter().flatten().all(|stack| *stack < stacks)
    }

    /// The allocations as samples, with the class on top of each stack. Older profiles have stacks
    /// without the class.
    fn into_samples(self, known: &mut ClassStacks, shared: &mut Shared) -> Samples {
        let Self { class_name, weight, stack, time } = self;
        let stacks = class_name.into_iter().zip(stack).map(|(class, below)| {
            if below.is_some_and(|stack| shared.leaf(stack) == class) {
                return below;
            }
            let function = known.function(class, |class| shared.add_function(class));
            Some(known.stack(below, function, || shared.add_stack(below, function)))
        });
        let stack = stacks.collect();
        Samples {
            stack,
            weight: Some(weight),
            vouch_context: None,
            time_deltas: Some(deltas(time)),
            counts: None,
        }
    }
}

/// The stacks with a class on top, each once.
#[derive(Default)]
struct ClassStacks {
    /// The function of each class, by its name.
    functions: HashMap<String, usize>,
    /// The stack with a class on top, by the stack below and by the class's function.
    stacks: HashMap<(Option<usize>, usize), usize>,
}

impl ClassStacks {
    /// Returns the function for a class. If it is new, `add` makes it.
    fn function(&mut self, class: String, add: impl FnOnce(&str) -> usize) -> usize {
        *self.functions.entry(class).or_insert_with_key(|class| add(class))
    }

    /// Returns the stack with this function on top of another stack. If it is new, `add` makes it.
    fn stack(&mut self, below: Option<usize>, function: usize, add: impl FnOnce() -> usize) -> usize {
        *self.stacks.entry((below, function)).or_insert_with(add)
    }
}
