//! Collects the data of a recording that is not written to its file yet, as a block.
//!
//! This module must never write a row twice, or before the rows that the row refers to. It must
//! never scan data that is written already: a recording has millions of rows, and a block is
//! written up to ten times a second.

use std::collections::HashMap;

use vouch_recording::{
    Amount, Amounts, ContextKind, ContextRow, Id, Marker, MarkerFieldRow, MarkerKindRow, Recording,
    RefutationRow, Refuted, StoredSample, Thread, ThreadId,
};

use crate::wire;

/// Maximum number of samples in a block. `MAX_BLOCK_ROWS` limits all other rows. A text counts as
/// one row for each `TEXT_BYTES_PER_ROW` bytes. A marker has up to eight numbers, so it counts as
/// `ROWS_PER_MARKER` rows.
const MAX_BLOCK_SAMPLES: usize = 1 << 17;
const MAX_BLOCK_ROWS: usize = 1 << 16;
const TEXT_BYTES_PER_ROW: usize = 32;
const ROWS_PER_MARKER: usize = 4;

/// The number of rows of each table that are written to the file already.
#[derive(Debug, Default)]
pub struct WrittenRows {
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
    /// Time of the last reading of each counter that was written, in nanoseconds.
    counters: Vec<u64>,
    marks: usize,
    dropped: (u64, u64),
    threads: Vec<WrittenThreadRows>,
    /// Threads with data that is not written yet.
    changed_threads: Vec<ThreadId>,
    /// Number of samples left out of this file, and their weight in intervals.
    left_out: (u64, u64),
    has_more: bool,
}

#[derive(Debug, Default)]
struct WrittenThreadRows {
    description: Option<wire::Description>,
    /// Index of the thread's first sample that this file contains.
    first: usize,
    /// CPU time of the thread before its first sample in this file, in nanoseconds. The file leaves
    /// it out.
    cpu_before_ns: u64,
    samples: usize,
    refuted: usize,
    marks: usize,
    /// Number of the thread's amounts that were written, for each measure.
    amounts: HashMap<&'static str, usize>,
}

/// Finds a time in nanoseconds that splits the samples since `since_ns`: at most half are from then
/// or later. Returns `until_ns` if there are fewer than two samples.
pub fn median_time_ns(recording: &Recording, since_ns: u64, until_ns: u64) -> u64 {
    let samples_from = |time_ns| {
        let of_thread = |thread: &Thread| {
            let samples = thread.samples();
            samples.len() - samples.partition_point(|sample| sample.time_ns < time_ns)
        };
        recording.threads().iter().map(of_thread).sum::<usize>()
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

/// Counts the markers before a time. Markers are in order of arrival. A program may report one long
/// after its end, but never before its end.
fn first_marker_from(marks: &[Marker], time_ns: u64) -> usize {
    marks.iter().position(|mark| mark.ended_ns >= time_ns).unwrap_or(marks.len())
}

impl WrittenRows {
    /// Starts with no rows written to the file, and leaves out samples and markers from before
    /// `time_ns`.
    pub fn from(recording: &Recording, time_ns: u64) -> Self {
        let marks = first_marker_from(recording.markers(), time_ns);
        let changed_threads = recording.thread_ids().collect();
        let mut written = Self { marks, changed_threads, ..Self::default() };
        for thread in recording.threads() {
            // Samples arrive nearly in order of time, so a binary search suffices.
            let first = thread.samples().partition_point(|sample| sample.time_ns < time_ns);
            let weight: u64 = thread.samples()[..first].iter().map(|sample| u64::from(sample.weight)).sum();
            written.left_out.0 += first as u64;
            written.left_out.1 += weight;
            written.threads.push(WrittenThreadRows {
                description: None,
                first,
                cpu_before_ns: thread.samples()[..first]
                    .last()
                    .map_or(0, |last| last.cpu_ns.saturating_sub(thread.samples()[0].cpu_ns)),
                samples: first,
                refuted: thread.refuted().partition_point(|refuted| refuted.time_ns < time_ns),
                marks: first_marker_from(thread.markers(), time_ns),
                amounts: thread
                    .amounts()
                    .iter()
                    .map(|(measure, rows)| (measure.key, rows.partition_point(|row| row.time_ns < time_ns)))
                    .collect(),
            });
        }
        written
    }

    /// Checks all threads again at the next block, because another writer has taken the list of
    /// changed threads.
    pub fn check_all_threads(&mut self, recording: &Recording) {
        self.changed_threads = recording.thread_ids().collect();
    }

    /// Returns the data that is new since the previous block, as much as fits into one block.
    pub fn new_rows(&mut self, recording: &mut Recording, time_ns: u64) -> wire::Block {
        let touched = recording.take_touched();
        self.changed_threads.extend(touched);
        let mut row_budget = MAX_BLOCK_ROWS;
        let tables = self.tables(recording, &mut row_budget);
        let process = self.process(recording, &mut row_budget);
        let threads = self.threads(recording, &mut row_budget);
        self.has_more = row_budget == 0 || !self.changed_threads.is_empty();
        wire::Block { number: 0, time_ns, state: String::new(), tables, threads, process }
    }

    /// Returns true if the last block had no space for all new data.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Completes a block with its number and the state, which may be empty. Returns `None` if the
    /// block has no content.
    pub fn numbered_block(&mut self, new_rows: wire::Block, state: String) -> Option<wire::Block> {
        let wire::Block { tables, threads, process, .. } = &new_rows;
        if state.is_empty() && tables.is_none() && process.is_none() && threads.is_empty() {
            return None;
        }
        let number = self.blocks;
        self.blocks += 1;
        Some(wire::Block { number, state, ..new_rows })
    }

    /// Collects new table rows, so that each table follows the tables that it refers to.
    fn tables(&mut self, recording: &Recording, row_budget: &mut usize) -> Option<wire::Tables> {
        let column = |rows: &[_], written: &mut usize, row_budget: &mut usize| {
            let new = take_unwritten(rows, written, row_budget)?;
            Some(wire::Column { first: new.0, value: new.1.iter().map(|string| row(*string)).collect() })
        };
        let contexts = recording.contexts();
        let tables = wire::Tables {
            strings: self.strings(recording, row_budget),
            sources: column(recording.sources().rows(), &mut self.sources, row_budget),
            resources: column(recording.resources().rows(), &mut self.resources, row_budget),
            funcs: self.funcs(recording, row_budget),
            frames: self.frames(recording, row_budget),
            stacks: self.stacks(recording, row_budget),
            refutations: take_unwritten(recording.refutations().rows(), &mut self.refutations, row_budget)
                .map(refutations),
            context_kinds: take_unwritten(contexts.kinds(), &mut self.context_kinds, row_budget).map(
                |(first, rows)| wire::ContextKinds { first, kind: rows.iter().map(context_kind).collect() },
            ),
            contexts: take_unwritten(contexts.rows(), &mut self.contexts, row_budget)
                .map(|(first, rows)| wire::Contexts { first, context: rows.iter().map(context).collect() }),
            mark_kinds: take_unwritten(recording.marker_kinds().rows(), &mut self.mark_kinds, row_budget)
                .map(|(first, rows)| {
                    let kind = rows.iter().map(|row| mark_kind(row, recording)).collect();
                    wire::MarkKinds { first, kind }
                }),
            counters: self.counters(recording),
        };
        (tables != wire::Tables::default()).then_some(tables)
    }

    fn strings(&mut self, recording: &Recording, row_budget: &mut usize) -> Option<wire::Strings> {
        let mut texts = recording.strings().from(self.strings).peekable();
        texts.peek()?;
        let mut strings = wire::Strings { first: row_to_u32(self.strings), text: Vec::new() };
        for text in texts {
            if *row_budget == 0 {
                break;
            }
            *row_budget = row_budget.saturating_sub(1 + text.len() / TEXT_BYTES_PER_ROW);
            strings.text.push(text.to_owned());
        }
        self.strings += strings.text.len();
        Some(strings)
    }

    fn funcs(&mut self, recording: &Recording, row_budget: &mut usize) -> Option<wire::Funcs> {
        let (first, rows) = take_unwritten(recording.funcs().rows(), &mut self.funcs, row_budget)?;
        Some(wire::Funcs {
            first,
            name: rows.iter().map(|func| row(func.name)).collect(),
            category: rows.iter().map(|func| wire::from_category(func.category)).collect(),
            source: rows.iter().map(|func| row_plus_one(func.source)).collect(),
            line: rows.iter().map(|func| func.line.map_or(0, Into::into)).collect(),
            resource: rows.iter().map(|func| row_plus_one(func.resource)).collect(),
            java: rows.iter().map(|func| func.java).collect(),
        })
    }

    fn frames(&mut self, recording: &Recording, row_budget: &mut usize) -> Option<wire::Frames> {
        let (first, rows) = take_unwritten(recording.frames().rows(), &mut self.frames, row_budget)?;
        Some(wire::Frames {
            first,
            func: rows.iter().map(|frame| row(frame.func)).collect(),
            line: rows.iter().map(|frame| frame.line.map_or(0, Into::into)).collect(),
            trust: rows.iter().map(|frame| wire::from_trust(frame.leaf.map(|leaf| leaf.trust))).collect(),
            top_frame: rows
                .iter()
                .map(|frame| wire::from_top_frame(frame.leaf.and_then(|leaf| leaf.top_frame)))
                .collect(),
        })
    }

    fn stacks(&mut self, recording: &Recording, row_budget: &mut usize) -> Option<wire::Stacks> {
        let (first, rows) = take_unwritten(recording.stacks().rows(), &mut self.stacks, row_budget)?;
        let parent = |(at, parent): (u32, Option<_>)| parent.map_or(0, |parent| at - row(parent));
        Some(wire::Stacks {
            first,
            parent: (first..).zip(rows.iter().map(|stack| stack.parent)).map(parent).collect(),
            frame: rows.iter().map(|stack| row(stack.frame)).collect(),
        })
    }

    fn counters(&mut self, recording: &Recording) -> Option<wire::Counters> {
        let written = self.counters.len();
        let rows = &recording.counters()[written..];
        self.counters.resize(written + rows.len(), 0);
        (!rows.is_empty()).then(|| wire::Counters {
            first: row_to_u32(written),
            name: rows.iter().map(|counter| counter.name.clone()).collect(),
            description: rows.iter().map(|counter| counter.description.clone()).collect(),
            unit: rows.iter().map(|counter| wire::from_unit(counter.unit)).collect(),
        })
    }

    fn process(&mut self, recording: &Recording, row_budget: &mut usize) -> Option<wire::Process> {
        if *row_budget == 0 {
            return None;
        }
        let marks = marks(recording.markers(), &mut self.marks, row_budget);
        let mut readings = Vec::new();
        for (at, (counter, last)) in recording.counters().iter().zip(&mut self.counters).enumerate() {
            let all = counter.readings();
            // Search by time, not by index: a long run later thins out its readings.
            let from = all.partition_point(|(time, _)| *time <= *last);
            let to_message = |(time_ns, value): &(u64, u64)| wire::Reading {
                counter: row_to_u32(at),
                time_ns: *time_ns,
                value: *value,
            };
            let written = &all[from..all.len().min(from + *row_budget)];
            *row_budget -= written.len();
            readings.extend(written.iter().map(to_message));
            *last = written.last().map_or(*last, |(time, _)| *time);
        }
        let tally = recording.tally();
        // Samples that the file leaves out are missing from the timeline as well, so they count as
        // dropped.
        let dropped = (tally.samples.dropped + self.left_out.0, tally.weight.dropped + self.left_out.1);
        let new_rows = dropped != self.dropped || !marks.is_empty() || !readings.is_empty();
        self.dropped = dropped;
        new_rows.then_some(wire::Process { marks, readings, dropped: dropped.0, dropped_weight: dropped.1 })
    }

    /// Collects the new data of threads in the order of their ids, so that a reader adds them in
    /// that order.
    fn threads(&mut self, recording: &Recording, row_budget: &mut usize) -> Vec<wire::Thread> {
        self.changed_threads.sort_unstable();
        self.changed_threads.dedup();
        self.threads.resize_with(recording.threads().len(), WrittenThreadRows::default);
        let mut samples = MAX_BLOCK_SAMPLES;
        let mut messages = Vec::new();
        self.changed_threads.retain(|id| {
            if *row_budget == 0 {
                return true;
            }
            let (thread, written) = (&recording.threads()[id.row()], &mut self.threads[id.row()]);
            messages.push(written.new_rows(thread, row(*id), &mut samples, row_budget));
            written.has_unwritten(thread)
        });
        messages
    }
}

impl WrittenThreadRows {
    fn new_rows(
        &mut self,
        thread: &Thread,
        row: u32,
        sample_budget: &mut usize,
        row_budget: &mut usize,
    ) -> wire::Thread {
        let samples = samples(thread, self.samples, *sample_budget);
        let first = (self.samples - self.first) as u64;
        let count = samples.as_ref().map_or(0, |samples| samples.stack.len());
        self.samples += count;
        *sample_budget -= count;
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
        *row_budget = row_budget.saturating_sub(1 + thread.name().len() / TEXT_BYTES_PER_ROW);
        wire::Thread {
            row,
            description: is_new.then_some(description),
            samples: samples.map(|samples| wire::Samples { first, ..samples }),
            refuted: take_unwritten(thread.refuted(), &mut self.refuted, row_budget)
                .map_or(Vec::new(), |(_, rows)| rows.iter().map(refuted).collect()),
            marks: marks(thread.markers(), &mut self.marks, row_budget),
            allocations: Vec::new(),
            amounts: amounts(thread.amounts(), &mut self.amounts, row_budget),
        }
    }

    /// Returns true if the thread has data that is not written yet.
    fn has_unwritten(&self, thread: &Thread) -> bool {
        self.samples < thread.samples().len()
            || self.refuted < thread.refuted().len()
            || self.marks < thread.markers().len()
            || thread
                .amounts()
                .iter()
                .any(|(measure, rows)| self.amounts.get(measure.key).copied().unwrap_or(0) < rows.len())
    }
}

fn samples(thread: &Thread, first: usize, sample_budget: usize) -> Option<wire::Samples> {
    let mut message = wire::Samples::default();
    let (mut time, mut cpu, mut in_context) = (0, 0, false);
    for (sample, context) in thread.samples_from(first).take(sample_budget) {
        let StoredSample { time_ns, cpu_ns, stack, weight } = *sample;
        message.time_ns.push(time_ns.wrapping_sub(time).cast_signed());
        message.cpu_ns.push(cpu_ns.wrapping_sub(cpu).cast_signed());
        (time, cpu) = (time_ns, cpu_ns);
        message.stack.push(row(stack));
        message.weight.push(weight);
        message.context.push(row_plus_one(context));
        in_context |= context.is_some();
    }
    if !in_context {
        message.context.clear();
    }
    (!message.stack.is_empty()).then_some(message)
}

fn refutations((first, rows): (u32, &[RefutationRow])) -> wire::Refutations {
    let strings =
        |column: fn(&RefutationRow) -> _| rows.iter().map(|refutation| row(column(refutation))).collect();
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
        outer: row_plus_one(context.outer),
        kind: row(context.kind),
        value: context.values.iter().map(|value| row(*value)).collect(),
    }
}

fn mark_kind(row: &MarkerKindRow, recording: &Recording) -> wire::MarkKind {
    let MarkerKindRow { key, label, description, category, fields } = row;
    let field = |field: &MarkerFieldRow| wire::Figure {
        key: field.key.clone(),
        label: field.label.clone(),
        unit: wire::from_unit(field.unit),
    };
    wire::MarkKind {
        key: key.clone(),
        label: recording.strings().get(*label).to_owned(),
        description: description.clone(),
        category: wire::from_category(*category),
        figure: fields.iter().map(field).collect(),
    }
}

fn refuted(refuted: &Refuted) -> wire::Refuted {
    let Refuted { time_ns, stack, weight, how } = *refuted;
    wire::Refuted { time_ns, stack: row(stack), weight, how: row(how) }
}

fn marks(marks: &[Marker], written: &mut usize, row_budget: &mut usize) -> Vec<wire::Mark> {
    let mark = |mark: &Marker| {
        let Marker { kind, began_ns, ended_ns, values, stack } = *mark;
        wire::Mark { kind: row(kind), began_ns, ended_ns, value: values.to_vec(), stack: row_plus_one(stack) }
    };
    let mut for_marks = *row_budget / ROWS_PER_MARKER;
    let new = take_unwritten(marks, written, &mut for_marks).map_or(&[][..], |(_, rows)| rows);
    // A remainder too small for a marker must not hide that more markers wait.
    *row_budget = if *written < marks.len() { 0 } else { *row_budget - ROWS_PER_MARKER * new.len() };
    new.iter().map(mark).collect()
}

/// Returns the thread's amounts that are not written yet, one message for each measure.
fn amounts(
    amounts: &Amounts,
    written: &mut HashMap<&'static str, usize>,
    row_budget: &mut usize,
) -> Vec<wire::Amounts> {
    let mut messages = Vec::new();
    for (measure, rows) in amounts.iter() {
        let Some((_, rows)) = take_unwritten(rows, written.entry(measure.key).or_default(), row_budget)
        else {
            continue;
        };
        let mut message = wire::Amounts { measure: measure.key.to_owned(), ..wire::Amounts::default() };
        let mut last_ns = 0;
        let in_contexts = rows.iter().any(|row| row.context.is_some());
        for Amount { time_ns, stack, amount, events, context } in rows {
            message.time_ns.push(time_ns.wrapping_sub(last_ns).cast_signed());
            last_ns = *time_ns;
            message.stack.push(row(*stack));
            message.amount.push(*amount);
            message.events.push(*events);
            message.context.extend(in_contexts.then(|| row_plus_one(*context)));
        }
        messages.push(message);
    }
    messages
}

/// Returns the unwritten rows of a table that fit into the block, and the row number of the first.
/// It counts them as written.
fn take_unwritten<'r, T>(
    rows: &'r [T],
    written: &mut usize,
    row_budget: &mut usize,
) -> Option<(u32, &'r [T])> {
    let new = rows.get(*written..)?;
    let new = &new[..new.len().min(*row_budget)];
    let first = row_to_u32(*written);
    *written += new.len();
    *row_budget -= new.len();
    (!new.is_empty()).then_some((first, new))
}

fn row(id: impl Id) -> u32 {
    row_to_u32(id.row())
}

fn row_plus_one<I: Id>(id: Option<I>) -> u32 {
    id.map_or(0, |id| row(id) + 1)
}

/// Converts a row number to u32. It always fits, since ids have 32 bits.
fn row_to_u32(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use vouch_recording::MarkerKindId;

    #[test]
    fn a_block_stays_far_below_what_a_reader_takes_for_one() {
        let marks = vec![
            Marker {
                kind: MarkerKindId::from_row(0),
                began_ns: u64::MAX,
                ended_ns: u64::MAX,
                values: [u64::MAX; _],
                stack: None,
            };
            100_000
        ];
        let (mut written, mut all) = (0, 0);
        while written < marks.len() {
            // Other rows have used a part of the block, so the remainder is not a whole number of
            // markers.
            let mut row_budget = MAX_BLOCK_ROWS - 1;
            let block = super::marks(&marks, &mut written, &mut row_budget);
            all += block.len();
            assert!(row_budget == 0 || written == marks.len());
            let process = wire::Process { marks: block, ..wire::Process::default() };
            assert!(process.encoded_len() < 4 << 20, "{}", process.encoded_len());
        }
        assert_eq!(all, marks.len());
    }

    #[test]
    fn a_late_marker_does_not_hide_those_after_it() {
        let ended = [10, 20, 5, 30, 1, 1, 1, 40, 2];
        let marks = ended.map(|ended_ns| Marker {
            kind: MarkerKindId::from_row(0),
            began_ns: 0,
            ended_ns,
            values: [0; _],
            stack: None,
        });
        let first = [0, 15, 25, 35, 41].map(|time_ns| first_marker_from(&marks, time_ns));
        assert_eq!(first, [0, 1, 3, 7, 9]);
    }
}
