//! The format of pprof, `profile.proto`, which Go's tool and many others read.
//!
//! It must never hold the whole document in memory. It writes pieces of the message: readers join
//! the pieces, because a protobuf message may come in parts.
//!
//! Samples of CPU time with the same stack, context and weight are one row. Those of other measures
//! have a row each.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::num::NonZeroU32;

use indexmap::IndexSet;
use prost::Message;
use vouch_recording::measures::CPU;
use vouch_recording::{
    ContextId, FRAMES_LEFT_OUT, FuncId, MEASURES, Measure, Recording, StackId, StackRow, StringId, Thread,
    VIRTUAL_TID_BIT,
};

use crate::categories;
use crate::cut::CutStacks;
use crate::labels::{ContextLabel, context_labels, value_types};
use crate::meta::Meta;
use crate::tracks::split_threads;

mod message;

pub use message::{
    Function, Label, Line, Location, Mapping, Profile, Sample, THREAD_ID, THREAD_LABELS, ValueType,
};

/// How many samples are written at once.
const PIECE: usize = 256;

/// Writes a recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let split = split_threads(recording, meta);
    let threads = split.threads(recording);
    let mut writer = Writer {
        recording,
        cut: CutStacks::new(recording),
        columns: Columns::new(&threads, meta),
        strings: Strings::default(),
        locations: IndexSet::new(),
        samples: Vec::new(),
        out: BufWriter::with_capacity(64 << 10, out),
    };
    writer.write_properties(meta)?;
    for thread in threads {
        writer.thread(thread)?;
    }
    writer.write_samples()?;
    writer.write_tables(meta)?;
    writer.out.flush()
}

struct Writer<'r, W: Write> {
    recording: &'r Recording,
    cut: CutStacks<'r>,
    columns: Columns,
    strings: Strings,
    /// The functions and lines that samples refer to. `None` is the frames that were left out.
    locations: IndexSet<(Option<FuncId>, Option<NonZeroU32>)>,
    /// The samples that are not written yet.
    samples: Vec<Sample>,
    out: BufWriter<W>,
}

/// The values of a sample: one or two for each measure of the recording.
struct Columns {
    /// Each measure, with the index of the value that counts its amount, and of the number of its
    /// events. An event that counts no time has only the amount.
    measures: Vec<(&'static Measure, usize, Option<usize>)>,
    /// The name and the unit of each value.
    types: Vec<(String, &'static str)>,
    /// The time of a weight of 1. `None` if weights count no time.
    interval_ns: Option<u64>,
}

impl Columns {
    fn new(threads: &[&Thread], meta: &Meta) -> Self {
        let report = &meta.report;
        let interval_ns = report.event.is_none().then_some(report.run.interval_ns);
        let mut columns = Self { measures: Vec::new(), types: Vec::new(), interval_ns };
        let has = |measure: &Measure| threads.iter().any(|thread| !thread.amounts().get(measure).is_empty());
        for measure in MEASURES.into_iter().filter(|measure| **measure == CPU || has(measure)) {
            let types = value_types(measure, report);
            let events = (types.len() > 1).then_some(columns.types.len());
            columns.types.extend(types);
            columns.measures.push((measure, columns.types.len() - 1, events));
        }
        columns
    }

    /// Returns the index of the value that counts a measure's amount, if the profile has the
    /// measure.
    fn amount_at(&self, measure: &Measure) -> Option<usize> {
        self.measures.iter().find(|(known, ..)| *known == measure).map(|(_, at, _)| *at)
    }

    /// The values of a sample that counts one measure.
    fn values(&self, measure: &Measure, events: u64, amount: u64) -> Vec<i64> {
        let mut values = vec![0; self.types.len()];
        let column = self.measures.iter().find(|(known, ..)| *known == measure);
        let Some((_, amount_at, events_at)) = column else { return values };
        let unit = if *measure == CPU { self.interval_ns.unwrap_or(1) } else { 1 };
        values[*amount_at] = saturated(amount.saturating_mul(unit));
        if let Some(at) = events_at {
            values[*at] = saturated(events);
        }
        values
    }
}

impl<W: Write> Writer<'_, W> {
    fn write_properties(&mut self, meta: &Meta) -> io::Result<()> {
        let strings = &mut self.strings;
        let mut value_type =
            |name: &str, unit: &str| ValueType { r#type: strings.row(name), unit: strings.row(unit) };
        let sample_type: Vec<_> =
            self.columns.types.iter().map(|(name, unit)| value_type(name, unit)).collect();
        let amount = |measure| Some(&self.columns.types[self.columns.amount_at(measure)?].0);
        let cpu = amount(&CPU).map_or("", String::as_str);
        let (unit, period) = match self.columns.interval_ns {
            Some(interval_ns) => ("nanoseconds", saturated(interval_ns)),
            None => ("count", 1),
        };
        let period_type = Some(value_type(cpu, unit));
        let default = amount(meta.measure).map_or(cpu, String::as_str);
        let default_sample_type = strings.row(default);
        // pprof prints all comments above each table.
        let comment = vec![strings.row(&meta.report.fates())];
        self.write_piece(&Profile {
            sample_type,
            time_nanos: saturated(meta.started_unix_ns),
            duration_nanos: saturated(meta.ended_ns.saturating_sub(meta.started_ns)),
            period_type,
            period,
            comment,
            default_sample_type,
            ..Profile::default()
        })
    }

    fn thread(&mut self, thread: &Thread) -> io::Result<()> {
        let mut of_thread = vec![self.label("thread", thread.name())];
        if thread.tid() & VIRTUAL_TID_BIT == 0 {
            of_thread.push(self.label(THREAD_ID, &thread.tid().to_string()));
        }
        let mut rows: BTreeMap<_, u64> = BTreeMap::new();
        for (sample, context) in thread.samples_in_contexts() {
            *rows.entry((sample.stack, context, sample.weight)).or_default() += 1;
        }
        for ((stack, context, weight), samples) in rows {
            let mut label = of_thread.clone();
            label.extend(self.contexts(context));
            label.extend(self.leaf(stack));
            let value = self.columns.values(&CPU, samples, samples.saturating_mul(weight.into()));
            self.sample(stack, value, label)?;
        }
        for (measure, amounts) in thread.amounts().iter() {
            for amount in amounts {
                let mut label = of_thread.clone();
                label.extend(self.contexts(amount.context));
                label.extend(self.leaf(amount.stack));
                let value = self.columns.values(measure, amount.events, amount.amount);
                self.sample(amount.stack, value, label)?;
            }
        }
        Ok(())
    }

    /// A label for each field of a context and of those around it.
    fn contexts(&mut self, context: Option<ContextId>) -> Vec<Label> {
        let recording = self.recording;
        let label = |label: ContextLabel| self.label(&label.key, recording.strings().get(label.value));
        context_labels(recording, context).into_iter().map(label).collect()
    }

    /// The labels that say how far a stack can be trusted, and the category of its leaf.
    fn leaf(&mut self, stack: StackId) -> impl Iterator<Item = Label> + use<W> {
        let frame = self.recording.leaf(stack);
        let fate = self.label("fate", self.recording.fate_of(frame).name());
        let top_frame = self
            .recording
            .state_of(frame)
            .top_frame
            .map(|certainty| self.label("top_frame", certainty.name()));
        let category = categories::name(self.recording.funcs().get(frame.func).category);
        [Some(fate), top_frame, Some(self.label("category", category))].into_iter().flatten()
    }

    fn label(&mut self, key: &str, value: &str) -> Label {
        Label { key: self.strings.row(key), str: self.strings.row(value), num: 0 }
    }

    fn sample(&mut self, stack: StackId, value: Vec<i64>, label: Vec<Label>) -> io::Result<()> {
        let (frames, locations) = (self.recording.frames(), &mut self.locations);
        let code = |stack: StackRow| {
            let frame = frames.get(stack.frame);
            (Some(frame.func), frame.line)
        };
        let cut = self.cut.frames(stack);
        let location_id = cut.map(|frame| id(locations, frame.map_or((None, None), code))).collect();
        self.samples.push(Sample { location_id, value, label });
        if self.samples.len() == PIECE { self.write_samples() } else { Ok(()) }
    }

    fn write_samples(&mut self) -> io::Result<()> {
        let sample = mem::take(&mut self.samples);
        self.write_piece(&Profile { sample, ..Profile::default() })
    }

    /// Writes the tables that samples refer to. They have only rows that a sample needs.
    fn write_tables(&mut self, meta: &Meta) -> io::Result<()> {
        let Self { recording, strings, .. } = self;
        let text = |id: StringId| recording.strings().get(id);
        let row = |func: Option<FuncId>| func.map(|func| recording.funcs().get(func));
        // pprof takes the first mapping for the program.
        let (mut functions, mut mappings) = (IndexSet::new(), IndexSet::from([None]));
        let mut location = Vec::with_capacity(self.locations.len());
        for (number, (func, line)) in (1..).zip(&self.locations) {
            let resource = row(*func).and_then(|row| row.resource);
            let mapping_id = resource.map_or(0, |resource| id(&mut mappings, Some(resource)));
            let line = vec![Line { function_id: id(&mut functions, *func), line: line_number(*line) }];
            location.push(Location { id: number, mapping_id, line });
        }
        let function = (1..).zip(functions).map(|(id, func)| Function {
            id,
            name: strings.row(row(func).map_or(FRAMES_LEFT_OUT, |row| text(row.name))),
            filename: row(func)
                .and_then(|row| row.source)
                .map_or(0, |source| strings.row(text(recording.sources().get(source)))),
            start_line: line_number(row(func).and_then(|row| row.line)),
        });
        let function = function.collect();
        let mapping = (1..).zip(mappings).map(|(id, resource)| Mapping {
            id,
            filename: strings
                .row(resource.map_or(&meta.product, |resource| text(recording.resources().get(resource)))),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        });
        let mapping = mapping.collect();
        let string_table = mem::take(strings).0.into_iter().collect();
        self.write_piece(&Profile { mapping, location, function, string_table, ..Profile::default() })
    }

    fn write_piece(&mut self, piece: &Profile) -> io::Result<()> {
        self.out.write_all(&piece.encode_to_vec())
    }
}

/// The id of a row, which is added if it is new. Ids begin at 1.
fn id<T: Hash + Eq>(rows: &mut IndexSet<T>, row: T) -> u64 {
    rows.insert_full(row).0 as u64 + 1
}

fn line_number(line: Option<NonZeroU32>) -> i64 {
    line.map_or(0, |line| line.get().into())
}

fn saturated(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The table of strings, which begins with the empty one.
struct Strings(IndexSet<String>);

impl Default for Strings {
    fn default() -> Self {
        Self(IndexSet::from([String::new()]))
    }
}

impl Strings {
    fn row(&mut self, text: &str) -> i64 {
        let row = self.0.get_index_of(text).unwrap_or_else(|| self.0.insert_full(text.to_owned()).0);
        saturated(row as u64)
    }
}
