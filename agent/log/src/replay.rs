//! Rebuilds a recording from the blocks of its file.
//!
//! This module must never confuse two rows, and never fail on missing rows. Data that refers to
//! missing rows is skipped and counted.

use std::collections::HashMap;
use std::iter;
use std::num::NonZeroU32;

use vouch_recording::measures::{ALLOCATED, CPU};
use vouch_recording::{
    Amount, ContextField, ContextId, ContextKind, ContextKindId, ContextRow, CounterId, FrameId, FuncId,
    FuncRow, Id, Leaf, Marker, MarkerField, MarkerKind, MarkerKindId, Measure, Recording, RefutationId,
    RefutationRow, Refuted, ResourceId, Sample, SourceId, StackId, StringId, ThreadId, Unit,
};
use vouch_sample::MAX_VALUES;

use crate::ids::Ids;
use crate::wire;

/// Maximum number of marker kinds in a file. A forged file must not exhaust memory or overflow a
/// count. `MAX_MISSING_REFUTATIONS` limits missing refutations, `MAX_DROPPED_SAMPLES` dropped
/// samples, and `MAX_CONTEXT_DEPTH` nested contexts.
const MAX_MARKER_KINDS: usize = 1_000;
const MAX_MISSING_REFUTATIONS: usize = 100_000;
const MAX_DROPPED_SAMPLES: u64 = 1 << 48;
const MAX_CONTEXT_DEPTH: usize = 1_024;

/// The recording as it was rebuilt from the blocks so far.
#[derive(Debug, Default)]
pub struct Replay {
    pub recording: Recording,
    strings: Ids<StringId>,
    sources: Ids<SourceId>,
    resources: Ids<ResourceId>,
    funcs: Ids<FuncId>,
    frames: Ids<FrameId>,
    stacks: Ids<StackId>,
    refutations: Ids<RefutationId>,
    context_kinds: Ids<ContextKindId>,
    contexts: Ids<ContextId>,
    mark_kinds: Ids<MarkerKindId>,
    counters: Ids<CounterId>,
    threads: HashMap<u32, ReplayedThread>,
    dropped: (u64, u64),
    pub lost: Lost,
}

/// Counts of the data lost with missing blocks, as far as the other blocks show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Number of samples in missing blocks, from the sample numbers of later blocks.
    pub samples: u64,
    /// Number of samples that refer to a stack in a missing block. They count as dropped.
    pub samples_without_stack: u64,
    /// Number of markers, readings and other events that refer to missing rows or to unknown
    /// measures.
    pub unresolved_events: u64,
}

/// The state of one thread that the blocks contained so far.
#[derive(Debug)]
struct ReplayedThread {
    id: ThreadId,
    /// Number of the thread's samples that the blocks contained so far.
    covered_samples: u64,
    /// Latest reading of the thread's CPU clock in a sample, in nanoseconds. Samples arrive
    /// slightly out of order, so this is the maximum.
    clock: Option<u64>,
    /// CPU time that the kernel charged to the thread, and the value of `clock` at that time. Both
    /// are in nanoseconds.
    charged: Option<(u64, u64)>,
}

impl Replay {
    /// Adds the CPU time that threads used after the kernel's last reading, and returns its sum in
    /// nanoseconds. It derives this time from the CPU clocks in the samples. A thread without a
    /// kernel reading starts at the clock of its first sample, less that sample's weight.
    pub fn add_cpu_after_last_reading(&mut self, interval_ns: u64) -> u64 {
        let mut sum_ns = 0_u64;
        for ReplayedThread { id, charged, clock, .. } in self.threads.values() {
            let thread = &self.recording.threads()[id.row()];
            let first = thread.samples().first();
            let began = first.map(|first| {
                first.cpu_ns.saturating_sub(u64::from(first.weight).saturating_mul(interval_ns))
            });
            let charged = charged.or(began.map(|began| (0, began)));
            if let (Some((charged, then)), Some(clock), None) = (charged, clock, thread.ended_ns()) {
                let since = clock.saturating_sub(then);
                self.recording.set_thread_cpu(*id, charged.saturating_add(since));
                sum_ns = sum_ns.saturating_add(since);
            }
        }
        sum_ns
    }

    pub fn add_block(&mut self, block: &wire::Block) {
        if let Some(tables) = &block.tables {
            self.tables(tables);
        }
        for thread in &block.threads {
            self.thread(thread, block.time_ns);
        }
        if let Some(process) = &block.process {
            self.process(process);
        }
    }

    fn tables(&mut self, tables: &wire::Tables) {
        let Self { recording, strings, .. } = self;
        if let Some(wire::Strings { first, text }) = &tables.strings {
            let mut cursor = strings.start_at(*first);
            for text in text {
                strings.push(&mut cursor, || Some(recording.string(text)));
            }
        }
        if let Some(wire::Column { first, value }) = &tables.sources {
            let mut cursor = self.sources.start_at(*first);
            for path in value {
                self.sources.push(&mut cursor, || Some(recording.source_row(strings.get(*path)?)));
            }
        }
        if let Some(wire::Column { first, value }) = &tables.resources {
            let mut cursor = self.resources.start_at(*first);
            for name in value {
                self.resources.push(&mut cursor, || Some(recording.resource_row(strings.get(*name)?)));
            }
        }
        if let Some(funcs) = &tables.funcs {
            self.funcs(funcs);
        }
        let Self { recording, .. } = self;
        if let Some(wire::Frames { first, func, line, trust, top_frame }) = &tables.frames {
            let mut cursor = self.frames.start_at(*first);
            let top_frames = top_frame.iter().copied().chain(std::iter::repeat(0));
            for (((func, line), trust), top_frame) in func.iter().zip(line).zip(trust).zip(top_frames) {
                self.frames.push(&mut cursor, || {
                    let func = self.funcs.get(*func)?;
                    Some(match wire::to_trust(*trust) {
                        Some(trust) => {
                            let top_frame = wire::to_top_frame(top_frame);
                            recording.leaf_frame(func, Some(*line), Leaf { trust, top_frame })
                        }
                        None => recording.frame(func, Some(*line)),
                    })
                });
            }
        }
        if let Some(wire::Stacks { first, parent, frame }) = &tables.stacks {
            let mut cursor = self.stacks.start_at(*first);
            for (row, (parent, frame)) in (*first..=u32::MAX).zip(parent.iter().zip(frame)) {
                self.stacks.push_with(&mut cursor, |stacks| {
                    let parent = match *parent {
                        0 => None,
                        up => Some(stacks.get(row.checked_sub(up)?)?),
                    };
                    Some(recording.stack(parent, self.frames.get(*frame)?))
                });
            }
        }
        if let Some(refutations) = &tables.refutations {
            self.refutations(refutations);
        }
        self.context_tables(tables);
        let Self { recording, .. } = self;
        if let Some(wire::MarkKinds { first, kind }) = &tables.mark_kinds {
            let mut cursor = self.mark_kinds.start_at(*first);
            for wire::MarkKind { key, label, description, category, figure } in
                kind.iter().take(MAX_MARKER_KINDS)
            {
                let fields: Vec<MarkerField<'_>> = figure
                    .iter()
                    .map(|wire::Figure { key, label, unit }| MarkerField {
                        key,
                        label,
                        unit: wire::to_unit(*unit),
                    })
                    .collect();
                let category = wire::to_category(*category);
                let kind = MarkerKind { key, label, description, category, fields: &fields };
                self.mark_kinds.push(&mut cursor, || {
                    (recording.marker_kinds().rows().len() < MAX_MARKER_KINDS)
                        .then(|| recording.marker_kind(kind))
                });
            }
        }
        if let Some(wire::Counters { first, name, description, unit }) = &tables.counters {
            let mut cursor = self.counters.start_at(*first);
            let units = unit.iter().copied().map(wire::to_unit).chain(iter::repeat(Unit::Bytes));
            for ((name, description), unit) in name.iter().zip(description).zip(units) {
                self.counters.push(&mut cursor, || Some(recording.counter(name, description, unit)));
            }
        }
    }

    fn funcs(&mut self, funcs: &wire::Funcs) {
        let mut cursor = self.funcs.start_at(funcs.first);
        let columns =
            funcs.category.iter().zip(&funcs.source).zip(&funcs.line).zip(&funcs.resource).zip(&funcs.java);
        let Self { recording, strings, sources, resources, .. } = self;
        for (name, ((((category, source), line), resource), java)) in funcs.name.iter().zip(columns) {
            self.funcs.push(&mut cursor, || {
                Some(recording.func_row(FuncRow {
                    name: strings.get(*name)?,
                    category: wire::to_category(*category),
                    source: sources.get_optional(*source).ok()?,
                    line: NonZeroU32::new(*line),
                    resource: resources.get_optional(*resource).ok()?,
                    java: *java,
                }))
            });
        }
    }

    fn refutations(&mut self, rows: &wire::Refutations) {
        let Self { recording, strings, refutations, .. } = self;
        let or_none = |recording: &mut Recording, row: Option<u32>| {
            row.and_then(|row| strings.get(row)).unwrap_or_else(|| recording.string(""))
        };
        // Samples refer to refutations by row number, so a missing row keeps an empty entry.
        let known = recording.refutations().rows().len();
        if rows.first as usize - known.min(rows.first as usize) < MAX_MISSING_REFUTATIONS {
            for _ in known..rows.first as usize {
                let none = or_none(recording, None);
                let (kind, caller, expected, found) = (none, none, none, none);
                recording.refutation_row(RefutationRow { name: none, kind, caller, bci: 0, expected, found });
            }
        }
        let mut cursor = refutations.start_at(rows.first);
        let columns = rows.kind.iter().zip(&rows.caller).zip(&rows.bci).zip(&rows.expected).zip(&rows.found);
        for (name, ((((kind, caller), bci), expected), found)) in rows.name.iter().zip(columns) {
            refutations.push(&mut cursor, || {
                let mut text = |row: &u32| or_none(recording, Some(*row));
                let (name, kind, caller) = (text(name), text(kind), text(caller));
                let row = RefutationRow {
                    name,
                    kind,
                    caller,
                    bci: *bci,
                    expected: text(expected),
                    found: text(found),
                };
                Some(recording.refutation_row(row))
            });
        }
    }

    fn context_tables(&mut self, tables: &wire::Tables) {
        let Self { recording, strings, context_kinds, contexts, .. } = self;
        if let Some(wire::ContextKinds { first, kind }) = &tables.context_kinds {
            let mut cursor = context_kinds.start_at(*first);
            for wire::ContextKind { class, label, field_key, field_label } in kind {
                let field = |(key, label): (&u32, &u32)| {
                    Some(ContextField { key: strings.get(*key)?, label: strings.get(*label)? })
                };
                context_kinds.push(&mut cursor, || {
                    let fields: Option<Vec<ContextField>> =
                        field_key.iter().zip(field_label).map(field).collect();
                    let (class, label) = (strings.get(*class)?, strings.get(*label)?);
                    Some(recording.context_kind(ContextKind { class, label, fields: fields? }))
                });
            }
        }
        if let Some(wire::Contexts { first, context }) = &tables.contexts {
            let mut cursor = contexts.start_at(*first);
            for wire::Context { outer, kind, value } in context {
                contexts.push_with(&mut cursor, |contexts| {
                    let values: Option<Vec<StringId>> =
                        value.iter().map(|value| strings.get(*value)).collect();
                    let (kind, values, outer) =
                        (context_kinds.get(*kind)?, values?, contexts.get_optional(*outer).ok()?);
                    let fits = recording.contexts().kind(kind).fields.len() == values.len();
                    let depth = recording.contexts().outwards(outer).take(MAX_CONTEXT_DEPTH).count();
                    (fits && depth < MAX_CONTEXT_DEPTH)
                        .then(|| recording.context(ContextRow { outer, kind, values }))
                });
            }
        }
    }

    fn thread(&mut self, part: &wire::Thread, time_ns: u64) {
        let Self { recording, threads, .. } = self;
        let replayed = threads.entry(part.row).or_insert_with(|| {
            let id = match &part.description {
                Some(wire::Description { name, tid, started_ns, .. }) => {
                    recording.add_thread(name, *tid, *started_ns)
                }
                None => recording.add_thread("[name lost]", 0, time_ns),
            };
            ReplayedThread { id, covered_samples: 0, clock: None, charged: None }
        });
        let ReplayedThread { id: thread, covered_samples, .. } = replayed;
        let thread = *thread;
        if let Some(wire::Description { name, ended_ns, cpu_ns, .. }) = &part.description {
            recording.set_thread_name(thread, name);
            if let Some(ended) = ended_ns {
                recording.end_thread(thread, *ended);
            }
            if let Some(cpu) = cpu_ns {
                recording.set_thread_cpu(thread, *cpu);
            }
        }
        let mut clock = None;
        if let Some(samples) = &part.samples {
            self.lost.samples =
                self.lost.samples.saturating_add(samples.first.saturating_sub(*covered_samples));
            let known = covered_samples.saturating_sub(samples.first);
            *covered_samples =
                (*covered_samples).max(samples.first.saturating_add(samples.stack.len() as u64));
            clock = self.samples(thread, samples, usize::try_from(known).unwrap_or(usize::MAX));
        }
        // The description and the samples are from the time of the block.
        if let Some(replayed) = self.threads.get_mut(&part.row) {
            replayed.clock = replayed.clock.max(clock);
            let charged = part.description.as_ref().and_then(|description| description.cpu_ns);
            replayed.charged = charged.zip(replayed.clock).or(replayed.charged);
        }
        for wire::Refuted { time_ns, stack, weight, how } in &part.refuted {
            match self.stacks.get(*stack).zip(self.refutations.get(*how)) {
                Some((stack, how)) => {
                    let refuted = Refuted { time_ns: *time_ns, stack, weight: *weight, how };
                    self.recording.refuted(thread, refuted);
                }
                None => self.lost.unresolved_events += 1,
            }
        }
        part.marks.iter().for_each(|mark| self.add_marker(Some(thread), mark));
        for wire::Allocation { time_ns, stack, class, bytes, stands_for } in &part.allocations {
            match self.strings.get(*class).zip(self.stacks.get_optional(*stack).ok()) {
                Some((class, stack)) => {
                    let class = self.recording.strings().get(class).to_owned();
                    let stack = self.recording.stack_of_class(stack, &class);
                    let amount = Amount {
                        time_ns: *time_ns,
                        stack,
                        amount: *stands_for,
                        events: stands_for.div_ceil((*bytes).max(1)),
                        context: None,
                    };
                    self.recording.amount(thread, &ALLOCATED, amount);
                }
                None => self.lost.unresolved_events += 1,
            }
        }
        part.amounts.iter().for_each(|amounts| self.amounts(thread, amounts));
    }

    /// Adds a thread's samples of one measure. It skips and counts samples of a measure that this
    /// version does not support.
    fn amounts(&mut self, thread: ThreadId, amounts: &wire::Amounts) {
        let wire::Amounts { measure, time_ns, stack, amount, events, context } = amounts;
        let measure = Measure::from_key(measure).filter(|measure| **measure != CPU);
        let mut last_ns = 0_u64;
        let columns = time_ns.iter().zip(stack).zip(amount).zip(events);
        for (at, (((time, stack), amount), events)) in columns.enumerate() {
            last_ns = last_ns.wrapping_add_signed(*time);
            match measure.zip(self.stacks.get(*stack)) {
                Some((measure, stack)) => {
                    let context = self.context_at(context, at);
                    let amount =
                        Amount { time_ns: last_ns, stack, amount: *amount, events: *events, context };
                    self.recording.amount(thread, measure, amount);
                }
                None => self.lost.unresolved_events += 1,
            }
        }
    }

    /// Returns the context at a position of a column. A missing context counts as no context.
    fn context_at(&self, column: &[u32], at: usize) -> Option<ContextId> {
        column.get(at).and_then(|row| self.contexts.get_optional(*row).ok()).flatten()
    }

    /// Adds a thread's CPU samples, and returns the latest CPU clock among them in nanoseconds. The
    /// first `known` samples were added before, and are skipped.
    fn samples(&mut self, thread: ThreadId, samples: &wire::Samples, known: usize) -> Option<u64> {
        let (mut time_ns, mut cpu_ns, mut clock) = (0_u64, 0_u64, None);
        let columns = samples.time_ns.iter().zip(&samples.cpu_ns).zip(&samples.stack).zip(&samples.weight);
        for (at, (((time, cpu), stack), weight)) in columns.enumerate() {
            time_ns = time_ns.wrapping_add_signed(*time);
            cpu_ns = cpu_ns.wrapping_add_signed(*cpu);
            clock = clock.max(Some(cpu_ns));
            if at < known {
                continue;
            }
            let Some(stack) = self.stacks.get(*stack) else {
                self.lost.samples_without_stack += 1;
                self.recording.dropped(1, u64::from(*weight));
                continue;
            };
            let context = self.context_at(&samples.context, at);
            let Leaf { trust, .. } = self.recording.leaf_of(stack);
            let weight = *weight;
            let sample = Sample { time_ns, cpu_ns, stack, weight, trust, context };
            self.recording.sample(thread, sample);
        }
        clock
    }

    fn add_marker(&mut self, thread: Option<ThreadId>, mark: &wire::Mark) {
        let read = || {
            let kind = self.mark_kinds.get(mark.kind)?;
            let stack = self.stacks.get_optional(mark.stack).ok()?;
            let fields = &self.recording.marker_kinds().get(kind).fields;
            let mut values = [0; MAX_VALUES];
            for (at, value) in values.iter_mut().enumerate() {
                let stored = mark.value.get(at);
                let is_text = fields.get(at).is_some_and(|field| field.unit == Unit::Text);
                *value = if is_text {
                    let row = stored.and_then(|value| u32::try_from(*value).ok());
                    Marker::text_to_value(row.and_then(|row| self.strings.get(row)))
                } else {
                    stored.copied().unwrap_or(0)
                };
            }
            Some(Marker { kind, began_ns: mark.began_ns, ended_ns: mark.ended_ns, values, stack })
        };
        match read() {
            Some(mark) => self.recording.add_marker(thread, mark),
            None => self.lost.unresolved_events += 1,
        }
    }

    fn process(&mut self, process: &wire::Process) {
        process.marks.iter().for_each(|mark| self.add_marker(None, mark));
        for wire::Reading { counter, time_ns, value } in &process.readings {
            match self.counters.get(*counter) {
                Some(counter) => self.recording.count(counter, *time_ns, *value),
                None => self.lost.unresolved_events += 1,
            }
        }
        let (samples, weight) = self.dropped;
        let monotonic = |count: u64, before: u64| count.min(MAX_DROPPED_SAMPLES).max(before);
        self.dropped = (monotonic(process.dropped, samples), monotonic(process.dropped_weight, weight));
        self.recording.dropped(self.dropped.0 - samples, self.dropped.1 - weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(part: wire::Thread) -> wire::Block {
        let description = wire::Description { name: "main".to_owned(), ..wire::Description::default() };
        let part = wire::Thread { description: Some(description), ..part };
        let strings = wire::Strings { first: 0, text: vec!["byte[]".to_owned()] };
        let tables = wire::Tables { strings: Some(strings), ..wire::Tables::default() };
        wire::Block { tables: Some(tables), threads: vec![part], ..wire::Block::default() }
    }

    #[test]
    fn allocations_of_an_older_file_become_amounts() {
        let old = wire::Allocation { time_ns: 7, stack: 0, class: 0, bytes: 24, stands_for: 4_000 };
        let mut replay = Replay::default();
        replay.add_block(&thread(wire::Thread { allocations: vec![old], ..wire::Thread::default() }));
        let recording = &replay.recording;
        let [amount] = recording.threads()[0].amounts().get(&ALLOCATED) else { panic!("one amount") };
        assert_eq!((amount.time_ns, amount.amount, amount.events), (7, 4_000, 167));
        let frame = recording.leaf(amount.stack);
        assert_eq!(recording.strings().get(recording.funcs().get(frame.func).name), "byte[]");
    }

    #[test]
    fn a_measure_that_this_version_lacks_is_counted_as_passed_over() {
        let amounts = |measure: &str| wire::Amounts {
            measure: measure.to_owned(),
            time_ns: vec![1, 1],
            stack: vec![0, 0],
            amount: vec![5, 5],
            events: vec![1, 1],
            context: Vec::new(),
        };
        for measure in ["cpu", "moonlight"] {
            let mut replay = Replay::default();
            let part = wire::Thread { amounts: vec![amounts(measure)], ..wire::Thread::default() };
            replay.add_block(&thread(part));
            assert_eq!(replay.lost.unresolved_events, 2, "{measure}");
        }
    }
}
