//! The totals of each measure other than CPU time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vouch_recording::{Measure, MeasureUnit, Recording};

use crate::text::{bytes, grouped};
use crate::time::float;

/// The samples of one measure, such as allocated bytes, and what they stand for in total.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureReport {
    /// The unit of `amount`.
    pub unit: String,
    /// The amount that all samples of the measure stand for.
    pub amount: u64,
    pub samples: u64,
    /// The number of events that the samples stand for, such as allocated objects.
    pub events: u64,
}

/// The exact totals of a measure. Its samples are a part of the events, and stand for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactTotal {
    /// The unit of `amount`.
    pub unit: String,
    pub amount: u64,
    pub events: u64,
    /// The number of events that the measure leaves out, such as waits of virtual threads. They are
    /// not among `events`.
    pub left_out: u64,
}

impl ExactTotal {
    /// Adds the totals of other events of the same measure.
    pub fn add(&mut self, other: &Self) {
        self.unit.clone_from(&other.unit);
        self.amount = self.amount.saturating_add(other.amount);
        self.events = self.events.saturating_add(other.events);
        self.left_out = self.left_out.saturating_add(other.left_out);
    }
}

/// The sampled objects that were tracked until they were collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveObjectsReport {
    /// The number of sampled objects.
    pub tracked: u64,
    /// The number of objects that were let go while too many were alive. Others stand for them.
    pub let_go: u64,
    /// The number of objects that are alive, and were not let go.
    pub alive: u64,
    /// The number of collections.
    pub collections: u64,
}

impl MeasureReport {
    fn new(recording: &Recording, measure: &Measure) -> Self {
        let mut report = Self { unit: measure.unit.name().to_owned(), ..Self::default() };
        for amount in recording.threads().iter().flat_map(|thread| thread.measured(measure)) {
            report.amount = report.amount.saturating_add(amount.amount);
            report.samples += 1;
            report.events = report.events.saturating_add(amount.events);
        }
        report
    }
}

/// Describes the total of each measure as a sentence part: `2.8 GB of allocated bytes in 354
/// samples`. `None` if only CPU time was measured.
pub fn describe(measures: &BTreeMap<String, MeasureReport>) -> Option<String> {
    let totals = measures.iter().filter_map(|(key, report)| {
        let measure = Measure::from_key(key)?;
        let amount = match measure.unit {
            MeasureUnit::Intervals | MeasureUnit::Count => grouped(report.amount),
            MeasureUnit::Bytes => bytes(report.amount),
            MeasureUnit::Nanoseconds => format!("{:.1} s", float(report.amount) / 1e9),
        };
        Some(format!("{amount} of {} in {} samples", measure.name, grouped(report.samples)))
    });
    let totals: Vec<String> = totals.collect();
    (!totals.is_empty()).then(|| totals.join("; "))
}

/// Returns the totals of each measure that has samples, by the measure's key. CPU time is not
/// included, because the fates have its totals.
pub fn measures(recording: &Recording) -> BTreeMap<String, MeasureReport> {
    let others = Measure::others();
    let reports = others.map(|measure| (measure.key.to_owned(), MeasureReport::new(recording, measure)));
    reports.filter(|(_, report)| report.samples > 0).collect()
}
