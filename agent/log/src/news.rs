//! Collects the data of a recording that is not written yet, as a block.
//!
//! It must never write a row twice, or before the rows that the row refers to. It must never scan
//! data that is written already: a recording has millions of rows, and this runs up to ten times a
//! second.

use std::collections::HashMap;

use vouch_recording::{
    Amount, Amounts, ContextKind, ContextRow, FigureRow, Id, Mark, MarkKindRow, Recording, RefutationRow,
    Refuted, StoredSample, Thread, ThreadId,
};

use crate::wire;

/// Maximum number of samples in a block. `MOST_ROWS` limits all other rows. A text counts as one
/// row for each `OF_A_TEXT` bytes. A mark has up to eight numbers, so it counts as `OF_A_MARK`
/// rows.
const MOST_SAMPLES: usize = 1 << 17;
const MOST_ROWS: usize = 1 << 16;
const OF_A_TEXT: usize = 32;
const OF_A_MARK: usize = 4;

/// Counts the rows of each table that are written already.
#[derive(Debug, Default)]
pub struct Told {
    blocks: u64,
    strings: usize,
    sources: usize,
    resources: usize,
    funcs: usize,
    frames: usize,
    stacks: usize,
    refutations: usize,
    context_kinds: usize,
    contexts: usize,
    mark_kinds: usize,
    /// Time of each counter's last written reading, in nanoseconds.
    counters: Vec<u64>,
    marks: usize,
    dropped: (u64, u64),
    threads: Vec<OfThread>,
    /// Threads that have unwritten data.
    waiting: Vec<ThreadId>,
    /// Number of samples left out of this file, and their weight in intervals.
    left_out: (u64, u64),
    has_more: bool,
}

#[derive(Debug, Default)]
struct OfThread {
    description: Option<wire::Description>,
    /// Index of the first sample that this file contains.
    first: usize,
    /// CPU time of the thread before that sample, in nanoseconds. The file leaves it out.
    cpu_before_ns: u64,
    samples: usize,
    refuted: usize,
    marks: usize,
    /// Number of amounts written, for each measure.
    amounts: HashMap<&'static str, usize>,
}

/// Finds a time in nanoseconds that splits the samples since `since_ns`: at most half are from then
/// or later. Returns `until_ns` if there are fewer than two samples.
pub fn half(recording: &Recording, since_ns: u64, until_ns: u64) -> u64 {
    let samples_from = |time_ns| {
        let of = |thread: &Thread| {
            let samples = thread.samples();
            samples.len() - samples.partition_point(|sample| sample.time_ns < time_ns)
        };
        recording.threads().iter().map(of).sum::<usize>()
    };
    let half = samples_from(since_ns) / 2;
    if half == 0 {
        return until_ns;
    }
    let (mut since, mut until) = (since_ns, until_ns);
    while until - since > 1 {
        let middle = since + (until - since) / 2;
        if samples_from(middle) > half {
            since = middle;
        } else {
            until = middle;
        }
    }
    until
}

/// Counts the marks before a time. Marks are in order of arrival. A program may report a mark long
/// after its end, but never before its end.
fn since(marks: &[Mark], time_ns: u64) -> usize {
    marks.iter().position(|mark| mark.ended_ns >= time_ns).unwrap_or(marks.len())
}

impl Told {
    /// Starts with no rows written, and leaves out samples and marks from before `time_ns`.
    pub fn from(recording: &Recording, time_ns: u64) -> Self {
        let marks = since(recording.marks(), time_ns);
        let waiting = recording.thread_ids().collect();
        let mut told = Self { marks, waiting, ..Self::default() };
        for thread in recording.threads() {
            // Samples arrive nearly in order of time, so a binary search suffices.
            let first = thread.samples().partition_point(|sample| sample.time_ns < time_ns);
            let weight: u64 = thread.samples()[..first].iter().map(|sample| u64::from(sample.weight)).sum();
            told.left_out.0 += first as u64;
            told.left_out.1 += weight;
            told.threads.push(OfThread {
                description: None,
                first,
                cpu_before_ns: thread.samples()[..first]
                    .last()
                    .map_or(0, |last| last.cpu_ns.saturating_sub(thread.samples()[0].cpu_ns)),
                samples: first,
                refuted: thread.refuted().partition_point(|refuted| refuted.time_ns < time_ns),
                marks: since(thread.marks(), time_ns),
                amounts: thread
                    .amounts()
                    .iter()
                    .map(|(measure, rows)| (measure.key, rows.partition_point(|row| row.time_ns < time_ns)))
                    .collect(),
            });
        }
        told
    }

    /// Checks all threads again at the next block, because another writer has taken the list of
    /// changed threads.
    pub fn all_wait(&mut self, recording: &Recording) {
        self.waiting = recording.thread_ids().collect();
    }

    /// Returns the data that is new since the previous block, at most one block's worth.
    pub fn news(&mut self, recording: &mut Recording, time_ns: u64) -> wire::Block {
        let touched = recording.take_touched();
        self.waiting.extend(touched);
        let mut room = MOST_ROWS;
        let tables = self.tables(recording, &mut room);
        let process = self.process(recording, &mut room);
        let threads = self.threads(recording, &mut room);
        self.has_more = room == 0 || !self.waiting.is_empty();
        wire::Block { number: 0, time_ns, state: String::new(), tables, threads, process }
    }

    /// Returns true if the last block could not contain all new data.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Completes a block with its number and the state, which may be empty. Returns `None` if the
    /// block has no content.
    pub fn block(&mut self, news: wire::Block, state: String) -> Option<wire::Block> {
        let wire::Block { tables, threads, process, .. } = &news;
        if state.is_empty() && tables.is_none() && process.is_none() && threads.is_empty() {
            return None;
        }
        let number = self.blocks;
        self.blocks += 1;
        Some(wire::Block { number, state, ..news })
    }

    /// Collects new table rows, so that each table follows the tables that it refers to.
    fn tables(&mut self, recording: &Recording, room: &mut usize) -> Option<wire::Tables> {
        let column = |rows: &[_], told: &mut usize, room: &mut usize| {
            let new = new(rows, told, room)?;
            Some(wire::Column { first: new.0, value: new.1.iter().map(|string| row(*string)).collect() })
        };
        let contexts = recording.contexts();
        let tables = wire::Tables {
            strings: self.strings(recording, room),
            sources: column(recording.sources().rows(), &mut self.sources, room),
            resources: column(recording.resources().rows(), &mut self.resources, room),
            funcs: self.funcs(recording, room),
            frames: self.frames(recording, room),
            stacks: self.stacks(recording, room),
            refutations: new(recording.refutations().rows(), &mut self.refutations, room).map(refutations),
            context_kinds: new(contexts.kinds(), &mut self.context_kinds, room).map(|(first, rows)| {
                wire::ContextKinds { first, kind: rows.iter().map(context_kind).collect() }
            }),
            contexts: new(contexts.rows(), &mut self.contexts, room)
                .map(|(first, rows)| wire::Contexts { first, context: rows.iter().map(context).collect() }),
            mark_kinds: new(recording.mark_kinds().rows(), &mut self.mark_kinds, room).map(
                |(first, rows)| {
                    let kind = rows.iter().map(|row| mark_kind(row, recording)).collect();
                    wire::MarkKinds { first, kind }
                },
            ),
            counters: self.counters(recording),
        };
        (tables != wire::Tables::default()).then_some(tables)
    }

    fn strings(&mut self, recording: &Recording, room: &mut usize) -> Option<wire::Strings> {
        let mut texts = recording.strings().from(self.strings).peekable();
        texts.peek()?;
        let mut strings = wire::Strings { first: number(self.strings), text: Vec::new() };
        for text in texts {
            if *room == 0 {
                break;
            }
            *room = room.saturating_sub(1 + text.len() / OF_A_TEXT);
            strings.text.push(text.to_owned());
        }
        self.strings += strings.text.len();
        Some(strings)
    }

    fn funcs(&mut self, recording: &Recording, room: &mut usize) -> Option<wire::Funcs> {
        let (first, rows) = new(recording.funcs().rows(), &mut self.funcs, room)?;
        Some(wire::Funcs {
            first,
            name: rows.iter().map(|func| row(func.name)).collect(),
            category: rows.iter().map(|func| wire::of_category(func.category)).collect(),
            source: rows.iter().map(|func| maybe(func.source)).collect(),
            line: rows.iter().map(|func| func.line.map_or(0, Into::into)).collect(),
            resource: rows.iter().map(|func| maybe(func.resource)).collect(),
            java: rows.iter().map(|func| func.java).collect(),
        })
    }

    fn frames(&mut self, recording: &Recording, room: &mut usize) -> Option<wire::Frames> {
        let (first, rows) = new(recording.frames().rows(), &mut self.frames, room)?;
        Some(wire::Frames {
            first,
            func: rows.iter().map(|frame| row(frame.func)).collect(),
            line: rows.iter().map(|frame| frame.line.map_or(0, Into::into)).collect(),
            fate: rows.iter().map(|frame| wire::of_fate(frame.leaf.map(|leaf| leaf.fate))).collect(),
            top_frame: rows
                .iter()
                .map(|frame| wire::from_top_frame(frame.leaf.and_then(|leaf| leaf.top_frame)))
                .collect(),
        })
    }

    fn stacks(&mut self, recording: &Recording, room: &mut usize) -> Option<wire::Stacks> {
        let (first, rows) = new(recording.stacks().rows(), &mut self.stacks, room)?;
        let parent = |(at, parent): (u32, Option<_>)| parent.map_or(0, |parent| at - row(parent));
        Some(wire::Stacks {
            first,
            parent: (first..).zip(rows.iter().map(|stack| stack.parent)).map(parent).collect(),
            frame: rows.iter().map(|stack| row(stack.frame)).collect(),
        })
    }

    fn counters(&mut self, recording: &Recording) -> Option<wire::Counters> {
        let told = self.counters.len();
        let rows = &recording.counters()[told..];
        self.counters.resize(told + rows.len(), 0);
        (!rows.is_empty()).then(|| wire::Counters {
            first: number(told),
            name: rows.iter().map(|counter| counter.name.clone()).collect(),
            description: rows.iter().map(|counter| counter.description.clone()).collect(),
            unit: rows.iter().map(|counter| wire::of_unit(counter.unit)).collect(),
        })
    }

    fn process(&mut self, recording: &Recording, room: &mut usize) -> Option<wire::Process> {
        if *room == 0 {
            return None;
        }
        let marks = marks(recording.marks(), &mut self.marks, room);
        let mut readings = Vec::new();
        for (at, (counter, last)) in recording.counters().iter().zip(&mut self.counters).enumerate() {
            let all = counter.readings();
            // Search by time, not by index: a long run later thins out its readings.
            let from = all.partition_point(|(time, _)| *time <= *last);
            let reading = |(time_ns, value): &(u64, u64)| wire::Reading {
                counter: number(at),
                time_ns: *time_ns,
                value: *value,
            };
            let told = &all[from..all.len().min(from + *room)];
            *room -= told.len();
            readings.extend(told.iter().map(reading));
            *last = told.last().map_or(*last, |(time, _)| *time);
        }
        let tally = recording.tally();
        // Samples that the file leaves out are missing from the timeline as well, so they count as
        // dropped.
        let dropped = (tally.samples.dropped + self.left_out.0, tally.weight.dropped + self.left_out.1);
        let news = dropped != self.dropped || !marks.is_empty() || !readings.is_empty();
        self.dropped = dropped;
        news.then_some(wire::Process { marks, readings, dropped: dropped.0, dropped_weight: dropped.1 })
    }

    /// Collects the new data of threads in the order of their ids, so that a reader adds them in
    /// that order.
    fn threads(&mut self, recording: &Recording, room: &mut usize) -> Vec<wire::Thread> {
        self.waiting.sort_unstable();
        self.waiting.dedup();
        self.threads.resize_with(recording.threads().len(), OfThread::default);
        let mut samples = MOST_SAMPLES;
        let mut parts = Vec::new();
        self.waiting.retain(|id| {
            if *room == 0 {
                return true;
            }
            let (thread, told) = (&recording.threads()[id.row()], &mut self.threads[id.row()]);
            parts.push(told.news(thread, row(*id), &mut samples, room));
            told.lacks(thread)
        });
        parts
    }
}

impl OfThread {
    fn news(&mut self, thread: &Thread, row: u32, most: &mut usize, room: &mut usize) -> wire::Thread {
        let samples = samples(thread, self.samples, *most);
        let first = (self.samples - self.first) as u64;
        let count = samples.as_ref().map_or(0, |samples| samples.stack.len());
        self.samples += count;
        *most -= count;
        let description = wire::Description {
            name: thread.name().to_owned(),
            tid: thread.tid(),
            started_ns: thread.started_ns(),
            ended_ns: thread.ended_ns(),
            cpu_ns: thread.cpu_ns().map(|cpu| cpu.saturating_sub(self.cpu_before_ns)),
        };
        let is_new = self.description.as_ref() != Some(&description);
        if is_new {
            self.description = Some(description.clone());
        }
        *room = room.saturating_sub(1 + thread.name().len() / OF_A_TEXT);
        wire::Thread {
            row,
            description: is_new.then_some(description),
            samples: samples.map(|samples| wire::Samples { first, ..samples }),
            refuted: new(thread.refuted(), &mut self.refuted, room)
                .map_or(Vec::new(), |(_, rows)| rows.iter().map(refuted).collect()),
            marks: marks(thread.marks(), &mut self.marks, room),
            allocations: Vec::new(),
            amounts: amounts(thread.amounts(), &mut self.amounts, room),
        }
    }

    /// Returns true if the thread has unwritten data.
    fn lacks(&self, thread: &Thread) -> bool {
        self.samples < thread.samples().len()
            || self.refuted < thread.refuted().len()
            || self.marks < thread.marks().len()
            || thread
                .amounts()
                .iter()
                .any(|(measure, rows)| self.amounts.get(measure.key).copied().unwrap_or(0) < rows.len())
    }
}

fn samples(thread: &Thread, first: usize, most: usize) -> Option<wire::Samples> {
    let mut part = wire::Samples::default();
    let (mut time, mut cpu, mut in_context) = (0, 0, false);
    for (sample, context) in thread.samples_from(first).take(most) {
        let StoredSample { time_ns, cpu_ns, stack, weight } = *sample;
        part.time_ns.push(time_ns.wrapping_sub(time).cast_signed());
        part.cpu_ns.push(cpu_ns.wrapping_sub(cpu).cast_signed());
        (time, cpu) = (time_ns, cpu_ns);
        part.stack.push(row(stack));
        part.weight.push(weight);
        part.context.push(maybe(context));
        in_context |= context.is_some();
    }
    if !in_context {
        part.context.clear();
    }
    (!part.stack.is_empty()).then_some(part)
}

fn refutations((first, rows): (u32, &[RefutationRow])) -> wire::Refutations {
    let strings = |of: fn(&RefutationRow) -> _| rows.iter().map(|refutation| row(of(refutation))).collect();
    wire::Refutations {
        first,
        name: strings(|refutation| refutation.name),
        kind: strings(|refutation| refutation.kind),
        caller: strings(|refutation| refutation.caller),
        bci: rows.iter().map(|refutation| refutation.bci).collect(),
        expected: strings(|refutation| refutation.expected),
        found: strings(|refutation| refutation.found),
    }
}

fn context_kind(kind: &ContextKind) -> wire::ContextKind {
    wire::ContextKind {
        class: row(kind.class),
        label: row(kind.label),
        field_key: kind.fields.iter().map(|field| row(field.key)).collect(),
        field_label: kind.fields.iter().map(|field| row(field.label)).collect(),
    }
}

fn context(context: &ContextRow) -> wire::Context {
    wire::Context {
        outer: maybe(context.outer),
        kind: row(context.kind),
        value: context.values.iter().map(|value| row(*value)).collect(),
    }
}

fn mark_kind(row: &MarkKindRow, recording: &Recording) -> wire::MarkKind {
    let MarkKindRow { key, label, description, category, figures } = row;
    let figure = |figure: &FigureRow| wire::Figure {
        key: figure.key.clone(),
        label: figure.label.clone(),
        unit: wire::of_unit(figure.unit),
    };
    wire::MarkKind {
        key: key.clone(),
        label: recording.strings().get(*label).to_owned(),
        description: description.clone(),
        category: wire::of_category(*category),
        figure: figures.iter().map(figure).collect(),
    }
}

fn refuted(refuted: &Refuted) -> wire::Refuted {
    let Refuted { time_ns, stack, weight, how } = *refuted;
    wire::Refuted { time_ns, stack: row(stack), weight, how: row(how) }
}

fn marks(marks: &[Mark], told: &mut usize, room: &mut usize) -> Vec<wire::Mark> {
    let mark = |mark: &Mark| {
        let Mark { kind, began_ns, ended_ns, values, stack } = *mark;
        wire::Mark { kind: row(kind), began_ns, ended_ns, value: values.to_vec(), stack: maybe(stack) }
    };
    let mut for_marks = *room / OF_A_MARK;
    let new = new(marks, told, &mut for_marks).map_or(&[][..], |(_, rows)| rows);
    // A remainder too small for a mark must not hide that more marks wait.
    *room = if *told < marks.len() { 0 } else { *room - OF_A_MARK * new.len() };
    new.iter().map(mark).collect()
}

/// Returns the unwritten amounts, one message for each measure.
fn amounts(
    amounts: &Amounts,
    written: &mut HashMap<&'static str, usize>,
    room: &mut usize,
) -> Vec<wire::Amounts> {
    let mut messages = Vec::new();
    for (measure, rows) in amounts.iter() {
        let Some((_, rows)) = new(rows, written.entry(measure.key).or_default(), room) else { continue };
        let mut message = wire::Amounts { measure: measure.key.to_owned(), ..wire::Amounts::default() };
        let mut last_ns = 0;
        for Amount { time_ns, stack, amount, events } in rows {
            message.time_ns.push(time_ns.wrapping_sub(last_ns).cast_signed());
            last_ns = *time_ns;
            message.stack.push(row(*stack));
            message.amount.push(*amount);
            message.events.push(*events);
        }
        messages.push(message);
    }
    messages
}

/// Returns the unwritten rows that fit into the block, and the row number of the first. It counts
/// them as written.
fn new<'r, T>(rows: &'r [T], told: &mut usize, room: &mut usize) -> Option<(u32, &'r [T])> {
    let new = rows.get(*told..)?;
    let new = &new[..new.len().min(*room)];
    let first = number(*told);
    *told += new.len();
    *room -= new.len();
    (!new.is_empty()).then_some((first, new))
}

fn row(id: impl Id) -> u32 {
    number(id.row())
}

fn maybe<I: Id>(id: Option<I>) -> u32 {
    id.map_or(0, |id| row(id) + 1)
}

/// Converts a row number to u32. It always fits, since ids have 32 bits.
fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use vouch_recording::MarkKindId;

    #[test]
    fn a_block_stays_far_below_what_a_reader_takes_for_one() {
        let marks = vec![
            Mark {
                kind: MarkKindId::from_row(0),
                began_ns: u64::MAX,
                ended_ns: u64::MAX,
                values: [u64::MAX; _],
                stack: None,
            };
            100_000
        ];
        let (mut told, mut all) = (0, 0);
        while told < marks.len() {
            // Other rows have used a part of the block, so the remainder is not a whole number of
            // marks.
            let mut room = MOST_ROWS - 1;
            let block = super::marks(&marks, &mut told, &mut room);
            all += block.len();
            assert!(room == 0 || told == marks.len());
            let process = wire::Process { marks: block, ..wire::Process::default() };
            assert!(process.encoded_len() < 4 << 20, "{}", process.encoded_len());
        }
        assert_eq!(all, marks.len());
    }

    #[test]
    fn what_was_told_late_does_not_hide_what_comes_behind_it() {
        let ended = [10, 20, 5, 30, 1, 1, 1, 40, 2];
        let marks = ended.map(|ended_ns| Mark {
            kind: MarkKindId::from_row(0),
            began_ns: 0,
            ended_ns,
            values: [0; _],
            stack: None,
        });
        let first = [0, 15, 25, 35, 41].map(|time_ns| since(&marks, time_ns));
        assert_eq!(first, [0, 1, 3, 7, 9]);
    }
}
