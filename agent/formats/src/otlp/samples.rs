//! The samples of a measure: observations with the same stack, thread, context and trust are one
//! sample, with the time and the value of each.

use std::collections::BTreeMap;
use std::io;

use indexmap::IndexMap;
use opentelemetry_proto::tonic::profiles::v1development::Sample;
use vouch_recording::measures::CPU;
use vouch_recording::{
    Amount, ContextId, Measure, Recording, SplitThreads, StackId, Thread, VIRTUAL_TID_BIT,
};

use super::dictionary::{AttributeValue, Dictionary};
use crate::categories;
use crate::labels::context_labels;
use crate::meta::Meta;
use crate::tracks::split_threads;

/// Which number of an observation is its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Amount,
    Events,
}

/// The range of times that all samples are in, in nanoseconds since 1970.
pub struct TimeRange {
    pub begin_unix_ns: u64,
    end_unix_ns: u64,
}

impl TimeRange {
    pub fn duration_ns(&self) -> u64 {
        self.end_unix_ns.saturating_sub(self.begin_unix_ns)
    }
}

/// What two observations have in common if they are one sample: the rows of the stack, the
/// attributes and the link.
type Identity = (i32, Vec<i32>, i32);

pub struct Samples<'r> {
    recording: &'r Recording,
    split: SplitThreads,
    /// What to add to a time of CLOCK_MONOTONIC to get the time since 1970.
    unix_offset_ns: i128,
    /// The time of a weight of 1. It is 1 if weights count no time.
    interval_ns: u64,
}

impl<'r> Samples<'r> {
    pub fn new(recording: &'r Recording, meta: &Meta) -> Self {
        let report = &meta.report;
        Self {
            recording,
            split: split_threads(recording, meta),
            unix_offset_ns: i128::from(meta.started_unix_ns) - i128::from(meta.started_ns),
            interval_ns: if report.event.is_none() { report.run.interval_ns } else { 1 },
        }
    }

    /// True if the recording has the measure. Each recording has CPU time.
    pub fn has(&self, measure: &Measure) -> bool {
        *measure == CPU || self.threads().any(|thread| !thread.amounts().get(measure).is_empty())
    }

    fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.split.threads(self.recording).into_iter()
    }

    /// Returns the time of the recording. It includes all samples, even those that were recorded a
    /// moment before or after it.
    pub fn time_range(&self, meta: &Meta) -> TimeRange {
        let mut begin_ns = meta.started_ns;
        let mut last_ns = meta.ended_ns;
        for thread in self.threads() {
            let amounts = thread.amounts().iter().flat_map(|(_, amounts)| amounts);
            let times = thread.samples().iter().map(|it| it.time_ns).chain(amounts.map(|it| it.time_ns));
            for time_ns in times {
                begin_ns = begin_ns.min(time_ns);
                last_ns = last_ns.max(time_ns);
            }
        }
        let [begin_unix_ns, last_unix_ns] = [begin_ns, last_ns].map(|time_ns| self.unix_ns(time_ns));
        // The end is not in the range.
        TimeRange { begin_unix_ns, end_unix_ns: last_unix_ns.saturating_add(1) }
    }

    fn unix_ns(&self, monotonic_ns: u64) -> u64 {
        u64::try_from(i128::from(monotonic_ns) + self.unix_offset_ns).unwrap_or(0)
    }

    /// Calls `each` with all samples of a measure.
    pub fn each(
        &self,
        measure: &Measure,
        which: Which,
        dictionary: &mut Dictionary,
        mut each: impl FnMut(&Sample) -> io::Result<()>,
    ) -> io::Result<()> {
        // A thread may be several tracks with the same name and number.
        let mut threads = IndexMap::<(&str, u64), Vec<&Thread>>::new();
        for thread in self.threads() {
            threads.entry((thread.name(), thread.tid())).or_default().push(thread);
        }
        for ((name, tid), threads) in threads {
            let mut stacks = BTreeMap::<(StackId, Option<ContextId>), Vec<Amount>>::new();
            for thread in threads {
                for amount in thread.measured(measure) {
                    stacks.entry((amount.stack, amount.context)).or_default().push(amount);
                }
            }
            // A thread that has nothing of this measure needs no rows.
            if stacks.is_empty() {
                continue;
            }
            let mut of_thread = vec![dictionary.text("thread.name", name)];
            if tid & VIRTUAL_TID_BIT == 0 {
                let tid = AttributeValue::Number(i64::try_from(tid).unwrap_or(i64::MAX));
                of_thread.push(dictionary.attribute("thread.id", tid));
            }
            let mut samples = BTreeMap::<Identity, Vec<(u64, i64)>>::new();
            for ((stack, context), amounts) in stacks {
                let identity = self.identity(stack, context, &of_thread, dictionary);
                let value = |amount: &Amount| match which {
                    Which::Events => amount.events,
                    Which::Amount if *measure == CPU => amount.amount.saturating_mul(self.interval_ns),
                    Which::Amount => amount.amount,
                };
                let value = |amount: &Amount| i64::try_from(value(amount)).unwrap_or(i64::MAX);
                let points = amounts.iter().map(|amount| (self.unix_ns(amount.time_ns), value(amount)));
                samples.entry(identity).or_default().extend(points);
            }
            for ((stack_index, attribute_indices, link_index), mut points) in samples {
                points.sort_unstable();
                let (timestamps_unix_nano, values) = points.into_iter().unzip();
                each(&Sample { stack_index, attribute_indices, link_index, values, timestamps_unix_nano })?;
            }
        }
        Ok(())
    }

    fn identity(
        &self,
        stack: StackId,
        context: Option<ContextId>,
        of_thread: &[i32],
        dictionary: &mut Dictionary,
    ) -> Identity {
        let frame = self.recording.leaf(stack);
        let mut attributes = of_thread.to_vec();
        attributes.push(dictionary.text("vouch.fate", self.recording.fate_of(frame).name()));
        if let Some(certainty) = frame.leaf.and_then(|leaf| leaf.top_frame) {
            attributes.push(dictionary.text("vouch.top_frame", certainty.name()));
        }
        let category = self.recording.funcs().get(frame.func).category;
        attributes.push(dictionary.text("vouch.category", categories::name(category)));
        let (mut trace, mut ids) = (Vec::new(), Vec::new());
        for label in context_labels(self.recording, context) {
            let value = self.recording.strings().get(label.value);
            if label.is_trace {
                ids.extend(bytes(value));
                trace.push((label.key, value));
            } else {
                attributes.push(dictionary.text(&label.key, value));
            }
        }
        let link = match <[Vec<u8>; 2]>::try_from(ids) {
            Ok([trace_id, span_id]) if trace_id.len() == 16 && span_id.len() == 8 => {
                dictionary.link(trace_id, span_id)
            }
            // Beyond the limit of traces there are no ids, but a word.
            _ => {
                attributes.extend(trace.into_iter().map(|(key, value)| dictionary.text(&key, value)));
                0
            }
        };
        (dictionary.stack(stack), attributes, link)
    }
}

/// Reads a hexadecimal number as bytes.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|digits| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 2)?;
        u8::from_str_radix(digits, 16).ok()
    });
    digits.collect()
}
