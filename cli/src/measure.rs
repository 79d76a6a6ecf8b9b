//! What `vouch top`, `flame` and `diff` count: CPU time, what the program allocated, or wall-clock
//! time.
//!
//! A measure is a variant, with its way to read a profile in [`Measure::read`]. It must read no
//! table that another measure needs: a profile of a long run has many.

use std::collections::HashMap;
use std::path::Path;

use clap::ValueEnum;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use vouch_recording::measures::{ALLOCATED, CPU, WALL_CLOCK};

use crate::counted::Counted;
use crate::document;
use crate::error::Error;
use crate::profile::{Document, Profile, Samples, Shared, Thread, pprof};

/// The measure that a profile is read for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// CPU time, or what else the profile's samples count
    #[default]
    Cpu,
    /// Allocated bytes, by stack and class; record them with events=alloc
    Alloc,
    /// Wall-clock time, with the state of threads that wait; record it with wall=on
    Wall,
}

impl Measure {
    /// Reads a profile with the samples of this measure.
    pub fn read(self, file: &Path) -> Result<Profile, Error> {
        if let Some(profile) = pprof::read(file, self.recorded())? {
            return Ok(profile);
        }
        match self {
            Self::Cpu => Profile::read(file),
            Self::Alloc => read_allocations(file),
            Self::Wall => read_wall_clock(file),
        }
    }

    /// Returns the measure as recordings have it.
    fn recorded(self) -> &'static vouch_recording::Measure {
        match self {
            Self::Cpu => &CPU,
            Self::Alloc => &ALLOCATED,
            Self::Wall => &WALL_CLOCK,
        }
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

/// Reads a profile with its wall-clock time as the samples. The frame on top is a thread's state.
fn read_wall_clock(file: &Path) -> Result<Profile, Error> {
    let document: Document<TimedThread> = document::read(file, Error::NotAProfile)?;
    let Document { meta, shared, threads } = document;
    let threads = threads.into_iter().map(|thread| {
        let TimedThread { name, tid, vouch_tids, vouch_wall_clock } = thread;
        let WallClock { weight, stack, time, vouch_context } = vouch_wall_clock.unwrap_or_default();
        let time_deltas = Some(deltas(time));
        let samples = Samples { stack, weight: Some(weight), vouch_context, time_deltas };
        Thread { name, tid, vouch_tids, samples }
    });
    let threads = threads.collect();
    let profile = Profile::of_measure(file, Document { meta, shared, threads }, Some(Counted::WALL_CLOCK))?;
    if profile.samples().next().is_none() {
        return Err(Error::NoWallClock(file.to_owned()));
    }
    Ok(profile)
}

/// A thread with its wall-clock time, and without its samples of CPU time.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TimedThread {
    name: String,
    #[serde(default)]
    tid: Value,
    vouch_tids: Option<IgnoredAny>,
    vouch_wall_clock: Option<WallClock>,
}

/// The table of a thread's wall-clock time.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WallClock {
    /// The length of each time, in nanoseconds.
    weight: Vec<u64>,
    stack: Vec<Option<usize>>,
    /// The beginning of each time, in milliseconds.
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
        Samples { stack, weight: Some(weight), vouch_context: None, time_deltas: Some(deltas(time)) }
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
