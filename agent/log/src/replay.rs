//! A recording made again from its blocks.
//!
//! It must never take a row for another one, nor fail on what is missing: what cannot be told is left out, and counted.

use std::collections::HashMap;

use vouch_recording::{
    Allocation, ContextField, ContextId, ContextKind, ContextKindId, ContextRow, CounterId, Figure, FrameId,
    Func, FuncId, Id, Mark, MarkKind, MarkKindId, Recording, RefutationId, RefutationRow, Refuted,
    ResourceId, Sample, SourceId, StackId, StringId, ThreadId, Unit,
};

use crate::ids::{Ids, Missing};
use crate::wire;

/// A recording as far as it has been read.
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
    mark_kinds: Ids<MarkKindId>,
    counters: Ids<CounterId>,
    threads: HashMap<u32, OfThread>,
    dropped: (u64, u64),
    /// Samples that stood in blocks that are missing.
    pub missing: u64,
    /// Samples whose stack did: they are dropped.
    pub stackless: u64,
    /// Marks and the like that refer to what is missing.
    pub passed_over: u64,
}

/// A thread as far as it has been read.
#[derive(Debug)]
struct OfThread {
    id: ThreadId,
    /// How many samples of it were told of.
    told: u64,
    /// What the kernel had charged it, and the reading of its clock in its last sample then.
    charged: Option<(u64, u64)>,
}

impl Replay {
    /// What the kernel charged the threads after it was asked last, as far as their own clocks in their samples tell; it is added to what
    /// they were charged; of a thread that was born after a time its clock tells all. Together.
    pub fn charge(&mut self, begun_ns: u64) -> u64 {
        let mut all = 0;
        for OfThread { id, charged, .. } in self.threads.values() {
            let thread = &self.recording.threads()[id.row()];
            let charged = charged.or((thread.started_ns() > begun_ns).then_some((0, 0)));
            if let (Some((charged, then)), Some(last), None) =
                (charged, thread.samples().last(), thread.ended_ns())
            {
                let since = last.cpu_ns.saturating_sub(then);
                self.recording.set_thread_cpu(*id, charged.saturating_add(since));
                all += since;
            }
        }
        all
    }

    pub fn take(&mut self, block: &wire::Block) {
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
            let mut place = strings.begin(*first);
            for text in text {
                strings.push(&mut place, Some(recording.string(text)));
            }
        }
        if let Some(wire::Column { first, value }) = &tables.sources {
            let mut place = self.sources.begin(*first);
            for string in value {
                let path = text(recording, strings.get(*string));
                self.sources.push(&mut place, path.map(|path| recording.source(&path)));
            }
        }
        if let Some(wire::Column { first, value }) = &tables.resources {
            let mut place = self.resources.begin(*first);
            for string in value {
                let name = text(recording, strings.get(*string));
                self.resources.push(&mut place, name.map(|name| recording.resource(&name)));
            }
        }
        if let Some(funcs) = &tables.funcs {
            self.funcs(funcs);
        }
        let Self { recording, .. } = self;
        if let Some(wire::Frames { first, func, line, fate }) = &tables.frames {
            let mut place = self.frames.begin(*first);
            for ((func, line), fate) in func.iter().zip(line).zip(fate) {
                let frame = self.funcs.get(*func).map(|func| match wire::to_fate(*fate) {
                    Some(fate) => recording.leaf_frame(func, Some(*line), fate),
                    None => recording.frame(func, Some(*line)),
                });
                self.frames.push(&mut place, frame);
            }
        }
        if let Some(wire::Stacks { first, parent, frame }) = &tables.stacks {
            let mut place = self.stacks.begin(*first);
            for (row, (parent, frame)) in (*first..).zip(parent.iter().zip(frame)) {
                let parent = match *parent {
                    0 => Ok(None),
                    up => row.checked_sub(up).and_then(|row| self.stacks.get(row)).map(Some).ok_or(Missing),
                };
                let stack = parent.ok().zip(self.frames.get(*frame));
                self.stacks.push(&mut place, stack.map(|(parent, frame)| recording.stack(parent, frame)));
            }
        }
        if let Some(refutations) = &tables.refutations {
            self.refutations(refutations);
        }
        self.context_tables(tables);
        let Self { recording, .. } = self;
        if let Some(wire::MarkKinds { first, kind }) = &tables.mark_kinds {
            let mut place = self.mark_kinds.begin(*first);
            for wire::MarkKind { key, label, description, category, figure } in kind {
                let figures: Vec<Figure<'_>> = figure
                    .iter()
                    .map(|wire::Figure { key, label, unit }| Figure {
                        key,
                        label,
                        unit: wire::to_unit(*unit),
                    })
                    .collect();
                let category = wire::to_category(*category);
                let kind = MarkKind { key, label, description, category, figures: &figures };
                self.mark_kinds.push(&mut place, Some(recording.mark_kind(kind)));
            }
        }
        if let Some(wire::Counters { first, name, description }) = &tables.counters {
            let mut place = self.counters.begin(*first);
            for (name, description) in name.iter().zip(description) {
                self.counters.push(&mut place, Some(recording.counter(name, description)));
            }
        }
    }

    fn funcs(&mut self, funcs: &wire::Funcs) {
        let mut place = self.funcs.begin(funcs.first);
        let columns =
            funcs.category.iter().zip(&funcs.source).zip(&funcs.line).zip(&funcs.resource).zip(&funcs.java);
        for (name, ((((category, source), line), resource), java)) in funcs.name.iter().zip(columns) {
            let name = text(&self.recording, self.strings.get(*name));
            let origin =
                self.sources.maybe(*source).and_then(|source| Ok((source, self.resources.maybe(*resource)?)));
            let func = name.zip(origin.ok()).map(|(name, (source, resource))| {
                let category = wire::to_category(*category);
                self.recording.func(Func {
                    name: &name,
                    category,
                    source,
                    line: Some(*line),
                    resource,
                    java: *java,
                })
            });
            self.funcs.push(&mut place, func);
        }
    }

    fn refutations(&mut self, rows: &wire::Refutations) {
        let Self { recording, strings, refutations, .. } = self;
        let mut place = refutations.begin(rows.first);
        let columns = rows.kind.iter().zip(&rows.caller).zip(&rows.bci).zip(&rows.expected).zip(&rows.found);
        for (name, ((((kind, caller), bci), expected), found)) in rows.name.iter().zip(columns) {
            let [name, kind, caller, expected, found] =
                [name, kind, caller, expected, found].map(|string| strings.get(*string));
            // Their numbers are cited: a row that is not whole keeps its place.
            let mut or_none = |text: Option<StringId>| text.unwrap_or_else(|| recording.string(""));
            let row = RefutationRow {
                name: or_none(name),
                kind: or_none(kind),
                caller: or_none(caller),
                bci: *bci,
                expected: or_none(expected),
                found: or_none(found),
            };
            refutations.push(&mut place, Some(recording.refutation_row(row)));
        }
    }

    fn context_tables(&mut self, tables: &wire::Tables) {
        let Self { recording, strings, context_kinds, contexts, .. } = self;
        if let Some(wire::ContextKinds { first, kind }) = &tables.context_kinds {
            let mut place = context_kinds.begin(*first);
            for wire::ContextKind { class, label, field_key, field_label } in kind {
                let fields = field_key.iter().zip(field_label);
                let fields: Option<Vec<ContextField>> = fields
                    .map(|(key, label)| {
                        Some(ContextField { key: strings.get(*key)?, label: strings.get(*label)? })
                    })
                    .collect();
                let kind = strings.get(*class).zip(strings.get(*label)).zip(fields);
                let kind = kind.map(|((class, label), fields)| ContextKind { class, label, fields });
                context_kinds.push(&mut place, kind.map(|kind| recording.context_kind(kind)));
            }
        }
        if let Some(wire::Contexts { first, context }) = &tables.contexts {
            let mut place = contexts.begin(*first);
            for wire::Context { outer, kind, value } in context {
                let values: Option<Vec<StringId>> = value.iter().map(|value| strings.get(*value)).collect();
                let row = context_kinds.get(*kind).zip(values).and_then(|(kind, values)| {
                    let outer = contexts.maybe(*outer).ok()?;
                    let fits = recording.contexts().kind(kind).fields.len() == values.len();
                    fits.then_some(ContextRow { outer, kind, values })
                });
                contexts.push(&mut place, row.map(|row| recording.context(row)));
            }
        }
    }

    fn thread(&mut self, part: &wire::Thread, time_ns: u64) {
        let Self { recording, threads, .. } = self;
        let of_thread = threads.entry(part.row).or_insert_with(|| {
            let id = match &part.description {
                Some(wire::Description { name, tid, started_ns, .. }) => {
                    recording.add_thread(name, *tid, *started_ns)
                }
                None => recording.add_thread("[name lost]", 0, time_ns),
            };
            OfThread { id, told: 0, charged: None }
        });
        let OfThread { id: thread, told, .. } = of_thread;
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
        if let Some(samples) = &part.samples {
            self.missing += samples.first.saturating_sub(*told);
            let known = told.saturating_sub(samples.first);
            *told = (*told).max(samples.first.saturating_add(samples.stack.len() as u64));
            self.samples(thread, samples, usize::try_from(known).unwrap_or(usize::MAX));
        }
        // Both are of the moment of the block.
        if let Some(charged) = part.description.as_ref().and_then(|description| description.cpu_ns)
            && let Some(of_thread) = self.threads.get_mut(&part.row)
        {
            let clock = self.recording.threads()[thread.row()].samples().last().map(|sample| sample.cpu_ns);
            of_thread.charged = clock.map(|clock| (charged, clock));
        }
        for wire::Refuted { time_ns, stack, weight, how } in &part.refuted {
            match self.stacks.get(*stack).zip(self.refutations.get(*how)) {
                Some((stack, how)) => {
                    let refuted = Refuted { time_ns: *time_ns, stack, weight: *weight, how };
                    self.recording.refuted(thread, refuted);
                }
                None => self.passed_over += 1,
            }
        }
        part.marks.iter().for_each(|mark| self.mark(Some(thread), mark));
        for wire::Allocation { time_ns, stack, class, bytes, stands_for } in &part.allocations {
            match self.strings.get(*class).zip(self.stacks.maybe(*stack).ok()) {
                Some((class, stack)) => {
                    let (bytes, stands_for) = (*bytes, *stands_for);
                    let allocation = Allocation { time_ns: *time_ns, stack, class, bytes, stands_for };
                    self.recording.allocation(thread, allocation);
                }
                None => self.passed_over += 1,
            }
        }
    }

    fn samples(&mut self, thread: ThreadId, samples: &wire::Samples, known: usize) {
        let (mut time_ns, mut cpu_ns) = (0_u64, 0_u64);
        let columns = samples.time_ns.iter().zip(&samples.cpu_ns).zip(&samples.stack).zip(&samples.weight);
        for (at, (((time, cpu), stack), weight)) in columns.enumerate() {
            time_ns = time_ns.wrapping_add_signed(*time);
            cpu_ns = cpu_ns.wrapping_add_signed(*cpu);
            if at < known {
                continue;
            }
            let Some(stack) = self.stacks.get(*stack) else {
                self.stackless += 1;
                self.recording.dropped(1, u64::from(*weight));
                continue;
            };
            // One that is not there is one that nobody knows.
            let context = samples.context.get(at).and_then(|row| self.contexts.maybe(*row).ok()).flatten();
            let leaf = self.recording.frames().get(self.recording.stacks().get(stack).frame);
            let fate = self.recording.fate_of(leaf);
            self.recording.sample(thread, Sample { time_ns, cpu_ns, stack, weight: *weight, fate, context });
        }
    }

    fn mark(&mut self, thread: Option<ThreadId>, mark: &wire::Mark) {
        let read = || {
            let kind = self.mark_kinds.get(mark.kind)?;
            let stack = self.stacks.maybe(mark.stack).ok()?;
            let figures = &self.recording.mark_kinds().get(kind).figures;
            let mut values = [0; _];
            for (at, (value, told)) in values.iter_mut().zip(&mark.value).enumerate() {
                let is_text = figures.get(at).is_some_and(|figure| figure.unit == Unit::Text);
                *value = match u32::try_from(*told) {
                    Ok(row) if is_text => Mark::of_text(self.strings.get(row)),
                    _ => *told,
                };
            }
            Some(Mark { kind, began_ns: mark.began_ns, ended_ns: mark.ended_ns, values, stack })
        };
        match read() {
            Some(mark) => self.recording.mark(thread, mark),
            None => self.passed_over += 1,
        }
    }

    fn process(&mut self, process: &wire::Process) {
        process.marks.iter().for_each(|mark| self.mark(None, mark));
        for wire::Reading { counter, time_ns, value } in &process.readings {
            match self.counters.get(*counter) {
                Some(counter) => self.recording.count(counter, *time_ns, *value),
                None => self.passed_over += 1,
            }
        }
        let (samples, weight) = self.dropped;
        self.dropped = (process.dropped.max(samples), process.dropped_weight.max(weight));
        self.recording.dropped(self.dropped.0 - samples, self.dropped.1 - weight);
    }
}

fn text(recording: &Recording, string: Option<StringId>) -> Option<String> {
    string.map(|string| recording.strings().get(string).to_owned())
}
