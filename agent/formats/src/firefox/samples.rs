//! The samples of one track, in the columns that the front-end reads.
//!
//! It must never copy more than one track's samples, and those only while they are written. CPU
//! time is taken between two samples of the same thread, also where a track holds many.
//!
//! The front-end draws a stack from its sample to the next one. A thread that slept in between
//! would seem to work, so its idle time gets rows without a stack, which weigh nothing; but not
//! where it soon went on. Where more threads want to run than there are processors each waits for
//! its turn all the time, and where it stands does not change by that: a stack chart of such
//! stripes has room for no label. That it did not run meanwhile the CPU time between the two
//! samples says. (A thread that sleeps for so short a while is drawn so, too: nothing tells the two
//! apart.)

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{ContextId, StackId, Thread};

use super::time::Micros;
use crate::json::{Column, Row as Numbered};

/// A thread that has no processor for less than that is drawn where it was, in microseconds: a few
/// turns of other threads.
const TURNS_US: u64 = 10_000;

/// A sample on its track.
struct Row {
    time: Micros,
    /// CPU time since the thread's last sample, in microseconds.
    cpu_us: u64,
    /// None: idle from here to the next row.
    stack: Option<StackId>,
    weight: u32,
    context: Option<ContextId>,
}

impl Row {
    fn idle(time_us: u64) -> Self {
        Self { time: Micros(time_us), cpu_us: 0, stack: None, weight: 0, context: None }
    }
}

pub struct SampleColumns {
    rows: Vec<Row>,
    /// What a weight counts: where an interval is a millisecond the front-end can tell running
    /// time.
    unit: &'static str,
    /// It is known what CPU time there was: another profiler's samples may not say, and nobody must
    /// take that for none.
    timed: bool,
}

impl SampleColumns {
    /// `until_ns`: when the recording ended.
    pub fn of(threads: &[&Thread], interval_ns: u64, until_ns: u64) -> Self {
        let mut rows = Vec::with_capacity(threads.iter().map(|thread| thread.samples().len()).sum());
        for thread in threads {
            push_thread(&mut rows, thread, interval_ns);
        }
        let timed = rows.is_empty() || rows.iter().any(|row| row.cpu_us > 0);
        // Where threads share a track, one works while another sleeps.
        if let [thread] = threads {
            let life = [thread.started_ns(), thread.ended_ns().unwrap_or(until_ns)];
            rows = with_idle_rows(rows, life.map(|ns| Micros::from_nanos(ns).0), interval_ns, timed);
        }
        // Stable, and linear where the rows are in order already.
        rows.sort_by_key(|row| row.time);
        let unit = if interval_ns == 1_000_000 { "tracing-ms" } else { "samples" };
        Self { rows, unit, timed }
    }

    fn time_deltas(&self) -> impl Iterator<Item = Micros> {
        self.rows.iter().scan(0, |last, row| Some(Micros(row.time.0 - std::mem::replace(last, row.time.0))))
    }
}

/// Adds one thread's samples, in the order of time.
fn push_thread(rows: &mut Vec<Row>, thread: &Thread, interval_ns: u64) {
    let first = rows.len();
    rows.extend(thread.samples_in_contexts().map(|(sample, context)| Row {
        time: Micros::from_nanos(sample.time_ns),
        cpu_us: Micros::from_nanos(sample.cpu_ns).0,
        stack: Some(sample.stack),
        weight: sample.weight,
        context,
    }));
    let rows = &mut rows[first..];
    rows.sort_by_key(|row| (row.time, row.cpu_us));
    // Nothing is known before the first sample but what it stands for.
    let mut clock_us = rows.first().map_or(0, |row| {
        let stands_for = Micros::from_nanos(interval_ns.saturating_mul(row.weight.into())).0;
        row.cpu_us.saturating_sub(stands_for)
    });
    for row in rows {
        let now_us = row.cpu_us.max(clock_us);
        row.cpu_us = now_us - clock_us;
        clock_us = now_us;
    }
}

/// The rows of one thread that lived from one time to another, with its idle times between them.
/// Where they are not `timed` each sample had the time that it stands for.
fn with_idle_rows(rows: Vec<Row>, [start_us, end_us]: [u64; 2], interval_ns: u64, timed: bool) -> Vec<Row> {
    let step_us = Micros::from_nanos(interval_ns).0.max(1);
    let mut filled = Vec::with_capacity(rows.len());
    // Until when the last row's stack is to be drawn; before the first sample there is none.
    let mut drawn_us = start_us;
    let idle = |filled: &mut Vec<Row>, from_us: u64, to_us: u64| {
        if to_us > from_us.saturating_add(step_us.max(TURNS_US)) {
            filled.push(Row::idle(from_us));
            filled.push(Row::idle(to_us));
        }
    };
    for row in rows {
        let had_us = if timed { row.cpu_us } else { step_us.saturating_mul(row.weight.into()) };
        idle(&mut filled, drawn_us, row.time.0.saturating_sub(had_us));
        drawn_us = row.time.0.saturating_add(step_us);
        filled.push(row);
    }
    if !filled.is_empty() {
        idle(&mut filled, drawn_us, end_us);
    }
    filled
}

impl Serialize for SampleColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let weights = Column(|| self.rows.iter().map(|row| row.weight));
        let in_contexts = self.rows.iter().any(|row| row.context.is_some());
        let columns = 5 + usize::from(self.timed) + usize::from(in_contexts);
        let mut table = serializer.serialize_struct("samples", columns)?;
        table.serialize_field("length", &self.rows.len())?;
        table.serialize_field("stack", &Column(|| self.rows.iter().map(|row| row.stack.map(Numbered))))?;
        table.serialize_field("timeDeltas", &Column(|| self.time_deltas()))?;
        // Without the column, every sample weighs 1.
        table.serialize_field("weight", &self.rows.iter().any(|row| row.weight != 1).then_some(weights))?;
        table.serialize_field("weightType", self.unit)?;
        if self.timed {
            table.serialize_field("threadCPUDelta", &Column(|| self.rows.iter().map(|row| row.cpu_us)))?;
        }
        if in_contexts {
            // No column of the front-end's: see `meta.vouchContexts`.
            table.serialize_field(
                "vouchContext",
                &Column(|| self.rows.iter().map(|row| row.context.map(Numbered))),
            )?;
        }
        table.end()
    }
}
