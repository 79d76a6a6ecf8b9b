//! Reads from a profile what `vouch top`, `diff` and `flame` need: each sample's thread, stack and
//! context.
//!
//! All references are checked once, when the file is read, so that no code that counts checks them.

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexSet;
use regex_lite::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use vouch_formats::{category_name, is_guess};
use vouch_profile::join::{ContextKind, is_overlapping};
use vouch_recording::{Category as Origin, VIRTUAL_THREAD, VmPart};
use vouch_report::{CPU_TIME, TrustReport};

use crate::counted::{Counted, Unit};
use crate::document;
use crate::error::Error;

pub mod pprof;

/// A profile that Vouch wrote, with checked references.
pub struct Profile {
    pub meta: Meta,
    pub shared: Shared,
    pub threads: Vec<Thread>,
    /// What the samples count, if it is another measure than CPU time.
    other: Option<Counted>,
    /// True if the samples have times. Those of pprof files have none.
    pub has_times: bool,
}

/// A profile as its file has it. `T` has the tables of a thread that are read.
#[derive(Deserialize)]
pub struct Document<T> {
    pub meta: Meta,
    pub shared: Shared,
    pub threads: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The sampling interval in milliseconds.
    pub interval: f64,
    pub vouch_contexts: Option<Contexts>,
    /// The trust report. Another tool's profile has none.
    #[serde(rename = "vouch")]
    report: Value,
    /// The process of the profile, and its start. A merged profile has a list of processes instead.
    vouch_process: Option<Value>,
    vouch_processes: Option<Value>,
    #[serde(default)]
    start_time: Value,
    #[serde(default)]
    profiling_start_time: Value,
    #[serde(default)]
    profiling_end_time: Value,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Category {
    name: String,
    #[serde(default)]
    subcategories: Vec<String>,
}

/// One of the processes in a merged profile.
#[derive(Deserialize)]
struct Process {
    identity: Option<Value>,
    spans: Vec<[f64; 2]>,
}

/// The time for which a process was recorded, in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    process: Value,
    span_ms: [f64; 2],
}

/// Two recordings, one right after the other, may seem to overlap by this much. The machine's clock
/// is adjusted now and then.
const MOMENT_MS: f64 = 100.0;

impl Recorded {
    /// True if both contain the same time of the same process.
    pub fn is_in(&self, other: &Self) -> bool {
        self.process == other.process && is_overlapping(self.span_ms, other.span_ms, MOMENT_MS)
    }
}

/// The program's contexts, by row.
#[derive(Deserialize, Default)]
pub struct Contexts {
    kinds: Vec<ContextKind>,
    outer: Vec<Option<usize>>,
    kind: Vec<usize>,
    values: Vec<Vec<usize>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shared {
    string_array: Vec<String>,
    func_table: Funcs,
    frame_table: Frames,
    stack_table: Stacks,
}

#[derive(Deserialize)]
struct Funcs {
    name: Vec<usize>,
}

#[derive(Deserialize)]
struct Frames {
    func: Vec<usize>,
    category: Vec<Option<usize>>,
    #[serde(default)]
    subcategory: Vec<Option<usize>>,
    #[serde(default)]
    line: Vec<Option<u32>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stacks {
    frame: Vec<usize>,
    prefix_offset: Vec<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub name: String,
    /// The kernel's thread id. It is a text if the profile has several processes.
    #[serde(default)]
    pub tid: Value,
    /// The ids of all threads on the track, if it has several.
    pub vouch_tids: Option<IgnoredAny>,
    pub samples: Samples,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Samples {
    pub stack: Vec<Option<usize>>,
    pub weight: Option<Vec<u64>>,
    pub vouch_context: Option<Vec<Option<usize>>>,
    /// The time from each sample to the next, in milliseconds.
    pub time_deltas: Option<Vec<f64>>,
    /// The number of samples of each row. They share its weight. Without it, each row is a sample.
    #[serde(skip)]
    pub counts: Option<Vec<u64>>,
}

/// A sample: its stack, its weight in intervals or bytes, its context, its thread, and its time.
/// Equal samples without times may be one `Sample` with their weight together.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub stack: usize,
    pub weight: u64,
    /// The number of samples that share the weight.
    pub count: u64,
    pub context: Option<usize>,
    pub thread: usize,
    pub time_ms: f64,
}

impl Profile {
    /// Reads a profile with its samples.
    pub fn read(file: &Path) -> Result<Self, Error> {
        Self::of_measure(file, document::read(file, Error::NotAProfile)?, None)
    }

    /// Makes a profile with samples that count `other`, or CPU time without it.
    pub fn of_measure(
        file: &Path,
        document: Document<Thread>,
        other: Option<Counted>,
    ) -> Result<Self, Error> {
        let Document { meta, shared, threads } = document;
        let profile = Self { meta, shared, threads, other, has_times: true };
        if profile.is_whole() { Ok(profile) } else { Err(Error::DamagedProfile(file.to_owned())) }
    }

    fn is_whole(&self) -> bool {
        let Self { meta, shared, threads, .. } = self;
        let stacks = shared.stacks();
        let samples = |thread: &Thread| {
            let Samples { stack, weight, vouch_context, time_deltas, counts } = &thread.samples;
            let contexts = meta.vouch_contexts.as_ref().map_or(0, |contexts| contexts.kind.len());
            stack.iter().flatten().all(|stack| *stack < stacks)
                && weight.as_ref().is_none_or(|weight| weight.len() == stack.len())
                && time_deltas.as_ref().is_none_or(|times| times.len() == stack.len())
                && counts.as_ref().is_none_or(|counts| counts.len() == stack.len())
                && vouch_context.as_ref().is_none_or(|column| {
                    column.len() == stack.len() && column.iter().flatten().all(|row| *row < contexts)
                })
        };
        shared.is_whole()
            && threads.iter().all(samples)
            && has_total(threads.iter().filter_map(|thread| thread.samples.weight.as_ref()).flatten())
            && meta
                .vouch_contexts
                .as_ref()
                .is_none_or(|contexts| contexts.is_whole(shared.string_array.len()))
    }

    /// Returns the samples of all threads, by rows.
    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        self.threads.iter().enumerate().flat_map(|(thread, Thread { samples, .. })| {
            let mut time_ms = 0.0;
            samples.stack.iter().enumerate().filter_map(move |(row, stack)| {
                time_ms += samples.time_deltas.as_ref().map_or(0.0, |deltas| deltas[row]);
                let weight = samples.weight.as_ref().map_or(1, |weights| weights[row]);
                let context = samples.vouch_context.as_ref().and_then(|column| column[row]);
                let count = samples.counts.as_ref().map_or(1, |counts| counts[row]);
                Some(Sample { stack: (*stack)?, weight, count, context, thread, time_ms })
            })
        })
    }

    /// The samples of threads with a name that contains a match, or of all without a pattern.
    pub fn samples_of(&self, thread: Option<&Regex>) -> impl Iterator<Item = Sample> {
        let wanted: Vec<bool> =
            self.threads.iter().map(|track| thread.is_none_or(|regex| regex.is_match(&track.name))).collect();
        self.samples().filter(move |sample| wanted[sample.thread])
    }

    /// Returns the name of each thread. Threads with the same name have their ids added.
    pub fn thread_names(&self) -> Vec<String> {
        let mut called: HashMap<&str, usize> = HashMap::new();
        for thread in &self.threads {
            *called.entry(&thread.name).or_default() += 1;
        }
        let name = |Thread { name, tid, .. }: &Thread| {
            if called[name.as_str()] == 1 || tid.is_null() {
                return name.clone();
            }
            format!("{name} ({})", tid.as_str().map_or_else(|| tid.to_string(), str::to_owned))
        };
        self.threads.iter().map(name).collect()
    }

    /// Returns a text that no other recording has: the process and the start. Returns `None` if the
    /// profile lacks them.
    pub fn began(&self) -> Option<String> {
        let Meta { vouch_process, vouch_processes, start_time, profiling_start_time, .. } = &self.meta;
        let process = vouch_processes.as_ref().or(vouch_process.as_ref())?;
        Some(format!("{process} {start_time} {profiling_start_time}"))
    }

    /// Returns the processes in the profile, with the times for which they were recorded.
    pub fn recorded(&self) -> Vec<Recorded> {
        let Meta {
            vouch_process, vouch_processes, start_time, profiling_start_time, profiling_end_time, ..
        } = &self.meta;
        let own = || {
            let span = [profiling_start_time.as_f64()?, profiling_end_time.as_f64()?];
            Some(Process { identity: vouch_process.clone(), spans: vec![span] })
        };
        let processes: Vec<Process> = match vouch_processes {
            Some(merged) => Vec::deserialize(merged).unwrap_or_default(),
            None => own().into_iter().collect(),
        };
        let Some(start_ms) = start_time.as_f64() else { return Vec::new() };
        let mut recorded = Vec::new();
        for Process { identity, spans } in processes {
            let Some(process) = identity else { continue };
            let times = spans.into_iter().map(|span| span.map(|time_ms| start_ms + time_ms));
            recorded.extend(times.map(|span_ms| Recorded { process: process.clone(), span_ms }));
        }
        recorded
    }

    /// Returns the profile's trust report, if this version can read it. Each call parses the report
    /// anew.
    pub fn report(&self) -> Option<TrustReport> {
        TrustReport::deserialize(&self.meta.report).ok()
    }

    /// Returns the trust report, if its fates are about the samples that are counted.
    pub fn report_of_samples(&self) -> Option<TrustReport> {
        self.report().filter(|_| self.other.is_none())
    }

    /// Returns what the samples count, by the report. If another version wrote the report, some of
    /// its keys still show whether the samples are another profiler's, and whether they count time.
    pub fn counted(&self, report: Option<&TrustReport>) -> Counted {
        if let Some(other) = &self.other {
            return other.clone();
        }
        let says = |key: &str| self.meta.report.get(key).is_some_and(Value::is_string);
        let is_time = !says("event");
        let what = match report {
            Some(report) => report.time(),
            None if !is_time => "samples".into(),
            None if says("recorder") => "time".into(),
            None => CPU_TIME.into(),
        };
        Counted { what, unit: if is_time { Unit::Millis(self.meta.interval) } else { Unit::One } }
    }

    /// Returns the number of stacks.
    pub fn stacks(&self) -> usize {
        self.shared.stacks()
    }

    /// Returns the stack of a stack's callers, which has a smaller number.
    pub fn caller(&self, stack: usize) -> Option<usize> {
        let offset = self.shared.stack_table.prefix_offset[stack];
        (offset > 0).then(|| stack - offset)
    }

    /// Returns the frame on top of a stack.
    pub fn frame(&self, stack: usize) -> usize {
        self.shared.stack_table.frame[stack]
    }

    /// Returns the line of the frame on top of a stack.
    pub fn line(&self, stack: usize) -> Option<u32> {
        self.shared.frame_table.line.get(self.frame(stack)).copied().flatten()
    }

    /// Returns the function on top of a stack.
    pub fn function(&self, stack: usize) -> usize {
        self.shared.function(stack)
    }

    pub fn function_name(&self, function: usize) -> &str {
        self.shared.function_name(function)
    }

    /// Returns the number of functions.
    pub fn functions(&self) -> usize {
        self.shared.func_table.name.len()
    }

    /// Returns the time of a weight of 1 in milliseconds, if each sample is a span of time. Samples
    /// of wall-clock time are, and begin at their time.
    pub fn wait_unit_ms(&self) -> Option<f64> {
        self.other.as_ref().filter(|other| **other == Counted::WALL_CLOCK)?.each_ms()
    }

    /// True if the frame on top of a stack is the state of a thread that waits.
    pub fn is_waiting(&self, stack: usize) -> bool {
        self.category(stack) == Some(category_name(Origin::Waiting))
    }

    /// True if the VM itself was at work in this stack. No context says for whom the VM works.
    pub fn is_vm(&self, stack: usize) -> bool {
        self.category(stack) == Some(category_name(Origin::Vm(VmPart::Other)))
    }

    /// Returns the name of the category of a stack's top frame.
    fn category(&self, stack: usize) -> Option<&str> {
        let row = self.shared.frame_table.category[self.frame(stack)]?;
        self.meta.categories.get(row).map(|category| category.name.as_str())
    }

    /// True if the method on top of a stack is only a guess.
    pub fn is_top_uncertain(&self, stack: usize) -> bool {
        let Frames { category, subcategory, .. } = &self.shared.frame_table;
        let frame = self.frame(stack);
        let part = subcategory.get(frame).copied().flatten();
        category[frame].and_then(|row| self.meta.categories.get(row)).is_some_and(|category| {
            let part = part.and_then(|part| category.subcategories.get(part));
            is_guess(&category.name, part.map(String::as_str))
        })
    }

    fn text(&self, string: usize) -> &str {
        &self.shared.string_array[string]
    }

    /// Returns the value of a field in the innermost context that has this field.
    pub fn says(&self, context: Option<usize>, field: &Field) -> Option<&str> {
        let contexts = self.meta.vouch_contexts.as_ref()?;
        let mut outwards = std::iter::successors(context, |row| contexts.outer[*row]);
        outwards.find_map(|row| {
            let (_, place) = field.places.iter().find(|(kind, _)| *kind == contexts.kind[row])?;
            Some(self.text(contexts.values[row][*place]))
        })
    }

    /// Finds a field by its name or its label, with or without the label of its kind: `user`,
    /// `Request.user`.
    pub fn field(&self, wanted: &str) -> Result<Field, Error> {
        let none = Contexts::default();
        let contexts = self.meta.vouch_contexts.as_ref().unwrap_or(&none);
        let (mut places, mut known) = (Vec::new(), IndexSet::new());
        for (row, kind) in contexts.kinds.iter().enumerate() {
            let label = self.text(kind.label);
            for (place, (key, name)) in kind.fields.iter().zip(&kind.field_labels).enumerate() {
                let names = [self.text(*key), self.text(*name)];
                let qualified = names.map(|name| format!("{label}.{name}"));
                if names.contains(&wanted) || qualified.iter().any(|name| name == wanted) {
                    places.push((row, place));
                }
                known.insert(qualified[0].clone());
            }
        }
        if !places.is_empty() {
            let is_virtual = |row: usize| self.text(contexts.kinds[row].class) == VIRTUAL_THREAD;
            let is_of_virtual_threads = places.iter().any(|(row, _)| is_virtual(*row));
            return Ok(Field { name: wanted.to_owned(), places, is_of_virtual_threads });
        }
        Err(if known.is_empty() {
            Error::NoContexts
        } else {
            Error::NoSuchField { field: wanted.to_owned(), known: known.into_iter().collect() }
        })
    }
}

impl Meta {
    /// Returns the beginning of the recording, on the clock of the samples, in milliseconds.
    pub fn started_ms(&self) -> f64 {
        self.profiling_start_time.as_f64().unwrap_or(0.0)
    }
}

impl Shared {
    /// Returns the number of stacks.
    pub fn stacks(&self) -> usize {
        self.stack_table.frame.len()
    }

    /// True if all columns of a table have the same length, and each row refers to rows that exist.
    pub fn is_whole(&self) -> bool {
        let Self { string_array, func_table, frame_table, stack_table } = self;
        let within = |rows: &[usize], length: usize| rows.iter().all(|row| *row < length);
        within(&func_table.name, string_array.len())
            && within(&frame_table.func, func_table.name.len())
            && frame_table.category.len() == frame_table.func.len()
            && (frame_table.line.is_empty() || frame_table.line.len() == frame_table.func.len())
            && within(&stack_table.frame, frame_table.func.len())
            && stack_table.prefix_offset.len() == self.stacks()
            && stack_table.prefix_offset.iter().enumerate().all(|(row, offset)| *offset <= row)
    }

    /// Returns the function on top of a stack.
    fn function(&self, stack: usize) -> usize {
        self.frame_table.func[self.stack_table.frame[stack]]
    }

    fn function_name(&self, function: usize) -> &str {
        &self.string_array[self.func_table.name[function]]
    }

    /// Returns the name of a stack's leaf.
    pub fn leaf(&self, stack: usize) -> &str {
        self.function_name(self.function(stack))
    }

    /// Adds a function that is not a method, and returns its row.
    pub fn add_function(&mut self, name: &str) -> usize {
        self.string_array.push(name.to_owned());
        self.func_table.name.push(self.string_array.len() - 1);
        self.func_table.name.len() - 1
    }

    /// Adds a stack with a function on top of another stack, and returns its row.
    pub fn add_stack(&mut self, below: Option<usize>, function: usize) -> usize {
        self.frame_table.func.push(function);
        self.frame_table.category.push(None);
        if !self.frame_table.line.is_empty() {
            self.frame_table.line.push(None);
        }
        let row = self.stack_table.frame.len();
        self.stack_table.frame.push(self.frame_table.func.len() - 1);
        self.stack_table.prefix_offset.push(below.map_or(0, |below| row - below));
        row
    }
}

impl Thread {
    /// Returns the kernel's thread id, or 0 if the track has several threads.
    pub fn number(&self) -> u64 {
        let own = self.tid.as_u64().or_else(|| self.tid.as_str()?.parse().ok());
        own.filter(|_| self.vouch_tids.is_none()).unwrap_or(0)
    }
}

impl Contexts {
    fn is_whole(&self, strings: usize) -> bool {
        let Self { kinds, outer, kind, values } = self;
        let texts = |rows: &[usize]| rows.iter().all(|row| *row < strings);
        outer.len() == kind.len()
            && values.len() == kind.len()
            && outer.iter().enumerate().all(|(row, outer)| outer.is_none_or(|outer| outer < row))
            && kinds.iter().all(|kind| {
                kind.class.max(kind.label) < strings
                    && texts(&kind.fields)
                    && texts(&kind.field_labels)
                    && kind.fields.len() == kind.field_labels.len()
            })
            && kind.iter().zip(values).all(|(kind, values)| {
                kinds.get(*kind).is_some_and(|kind| kind.fields.len() == values.len()) && texts(values)
            })
    }
}

/// A field of contexts, with its column in each kind of contexts that has it.
#[derive(Debug, Clone)]
pub struct Field {
    /// The name by which the user requested the field.
    pub name: String,
    places: Vec<(usize, usize)>,
    /// True if the field is one of virtual threads. Some of these could not be identified.
    pub is_of_virtual_threads: bool,
}

/// True if these weights have a sum. Only a damaged file has weights with a sum beyond 64 bits.
fn has_total<'w>(mut weights: impl Iterator<Item = &'w u64>) -> bool {
    weights.try_fold(0_u64, |sum, weight| sum.checked_add(*weight)).is_some()
}
