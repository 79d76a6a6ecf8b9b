//! The samples of one track, in the columns that the front-end reads.
//!
//! It must never copy more than one track's samples, and those only while they are written. CPU time is taken
//! between two samples of the same thread, also where a track holds many.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::ids::StackId;
use crate::json::Column;
use crate::thread::{Stored, Thread};
use crate::time::Micros;

/// A sample on its track.
struct Row {
    time: Micros,
    /// CPU time since the thread's last sample, in microseconds.
    cpu_us: u64,
    stack: StackId,
    weight: u32,
}

pub(crate) struct SampleColumns(Vec<Row>);

impl SampleColumns {
    pub(crate) fn of(threads: &[&Thread], interval_ns: u64) -> Self {
        let mut rows = Vec::with_capacity(threads.iter().map(|thread| thread.samples().len()).sum());
        for thread in threads {
            push_thread(&mut rows, thread.samples(), interval_ns);
        }
        // Stable, and linear where the rows are in order already.
        rows.sort_by_key(|row| row.time);
        Self(rows)
    }

    fn time_deltas(&self) -> impl Iterator<Item = Micros> {
        self.0.iter().scan(0, |last, row| Some(Micros(row.time.0 - std::mem::replace(last, row.time.0))))
    }
}

/// Adds one thread's samples, in the order of time.
fn push_thread(rows: &mut Vec<Row>, samples: &[Stored], interval_ns: u64) {
    let first = rows.len();
    rows.extend(samples.iter().map(|sample| Row {
        time: Micros::from_nanos(sample.time_ns),
        cpu_us: Micros::from_nanos(sample.cpu_ns).0,
        stack: sample.stack,
        weight: sample.weight,
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

impl Serialize for SampleColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let weights = Column(|| self.0.iter().map(|row| row.weight));
        let mut table = serializer.serialize_struct("samples", 6)?;
        table.serialize_field("length", &self.0.len())?;
        table.serialize_field("stack", &Column(|| self.0.iter().map(|row| row.stack)))?;
        table.serialize_field("timeDeltas", &Column(|| self.time_deltas()))?;
        // Without the column, every sample weighs 1.
        table.serialize_field("weight", &self.0.iter().any(|row| row.weight != 1).then_some(weights))?;
        table.serialize_field("weightType", "samples")?;
        table.serialize_field("threadCPUDelta", &Column(|| self.0.iter().map(|row| row.cpu_us)))?;
        table.end()
    }
}
