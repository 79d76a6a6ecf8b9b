//! Writes the samples of one track, as columns.
//!
//! Only one track's samples may be copied at a time, while they are written. CPU time is the
//! difference between two samples of the same thread, also if a track has several threads.
//!
//! The front-end draws a stack from its sample to the next one, so a thread that slept in between
//! would seem to work. Therefore idle time gets rows without a stack, which have weight 0.
//!
//! Short idle times get no such rows. With more runnable threads than processors each thread often
//! waits for its turn, and the stack chart would have no space for labels. A short sleep looks the
//! same as such a wait. In both cases the CPU time between the two samples shows that the thread
//! did not run.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{ContextId, StackId, Thread};

use super::time::Micros;
use crate::json::{Column, Row as Numbered};

/// The shortest idle time that gets rows without a stack, in microseconds. Shorter ones may be a
/// few time slices of other threads.
const MIN_IDLE_US: u64 = 10_000;

/// A row of the table of samples: a sample, or the beginning of idle time.
struct Row {
    time: Micros,
    /// The CPU time since the thread's previous sample, in microseconds.
    cpu_us: u64,
    /// The sample's stack, or `None` if the thread is idle until the next row.
    stack: Option<StackId>,
    weight: u32,
    context: Option<ContextId>,
}

impl Row {
    fn idle(time_us: u64) -> Self {
        Self { time: Micros(time_us), cpu_us: 0, stack: None, weight: 0, context: None }
    }
}

/// The samples of a track, which are written as the columns of a table.
pub struct SampleColumns {
    rows: Vec<Row>,
    /// The unit of weights. If an interval is a millisecond, the front-end can show running time.
    unit: &'static str,
    /// True if the CPU time of samples is known. Another profiler may not record it, and that must
    /// not be shown as a CPU time of 0.
    timed: bool,
}

impl SampleColumns {
    /// Makes the table for the threads of a track. `until_ns` is when the recording ended.
    pub fn new(threads: &[&Thread], interval_ns: u64, until_ns: u64) -> Self {
        let mut rows = Vec::with_capacity(threads.iter().map(|thread| thread.samples().len()).sum());
        for thread in threads {
            push_thread(&mut rows, thread, interval_ns);
        }
        let timed = rows.is_empty() || rows.iter().any(|row| row.cpu_us > 0);
        // If threads share a track, one may work while another sleeps, so no time is idle.
        if let [thread] = threads {
            let life = [thread.started_ns(), thread.ended_ns().unwrap_or(until_ns)];
            rows = with_idle_rows(rows, life.map(|ns| Micros::from_nanos(ns).0), interval_ns, timed);
        }
        // This sort is stable, and takes linear time if the rows are in order already.
        rows.sort_by_key(|row| row.time);
        let unit = if interval_ns == 1_000_000 { "tracing-ms" } else { "samples" };
        Self { rows, unit, timed }
    }

    fn time_deltas(&self) -> impl Iterator<Item = Micros> {
        self.rows.iter().scan(0, |last, row| Some(Micros(row.time.0 - std::mem::replace(last, row.time.0))))
    }
}

/// Adds the samples of one thread, in the order of time.
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
    // The CPU time before the first sample is unknown, except for the sample's weight.
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

/// Adds idle rows to the rows of a thread that ran from `start_us` to `end_us`. If the samples are
/// not `timed`, a sample's CPU time is assumed to be its weight in intervals.
fn with_idle_rows(rows: Vec<Row>, [start_us, end_us]: [u64; 2], interval_ns: u64, timed: bool) -> Vec<Row> {
    let step_us = Micros::from_nanos(interval_ns).0.max(1);
    let mut filled = Vec::with_capacity(rows.len());
    // This is where the previous row's stack ends in the drawing. Before the first sample it is the
    // thread's start.
    let mut drawn_us = start_us;
    let idle = |filled: &mut Vec<Row>, from_us: u64, to_us: u64| {
        if to_us > from_us.saturating_add(step_us.max(MIN_IDLE_US)) {
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
        // Without this column the front-end gives every sample weight 1.
        table.serialize_field("weight", &self.rows.iter().any(|row| row.weight != 1).then_some(weights))?;
        table.serialize_field("weightType", self.unit)?;
        if self.timed {
            table.serialize_field("threadCPUDelta", &Column(|| self.rows.iter().map(|row| row.cpu_us)))?;
        }
        if in_contexts {
            // This column is not the front-end's: its numbers are rows of `meta.vouchContexts`.
            table.serialize_field(
                "vouchContext",
                &Column(|| self.rows.iter().map(|row| row.context.map(Numbered))),
            )?;
        }
        table.end()
    }
}
