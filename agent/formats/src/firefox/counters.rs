//! Writes counters of the process. The front-end shows each as a graph above the threads.
//!
//! A counter's column contains the differences between readings. The first difference is the first
//! value.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{Counter, Unit};
use vouch_report::micros;

use super::time::Micros;
use crate::json::Column;

/// The readings of one counter of a process, written as columns.
pub struct CounterColumns<'a> {
    pub counter: &'a Counter,
    pub pid: u32,
}

impl Serialize for CounterColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counter = serializer.serialize_struct("counter", 7)?;
        let (category, display) = match self.counter.unit {
            Unit::Nanoseconds => ("CPU", SPENT),
            _ => ("Memory", USED),
        };
        counter.serialize_field("name", &self.counter.name)?;
        counter.serialize_field("category", category)?;
        counter.serialize_field("description", &self.counter.description)?;
        counter.serialize_field("pid", &self.pid.to_string())?;
        counter.serialize_field("mainThreadIndex", &0)?;
        counter.serialize_field("samples", &Readings(self.counter))?;
        counter.serialize_field("display", &Display { label: &self.counter.name, ..display })?;
        counter.end()
    }
}

struct Readings<'a>(&'a Counter);

impl Readings<'_> {
    /// Returns the difference between a reading and the previous one.
    fn growth_since_previous(&self, at: usize) -> Grown {
        let readings = self.0.readings();
        let (now, before) = (readings[at].1, at.checked_sub(1).map_or(0, |before| readings[before].1));
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        match self.0.unit {
            // The values are rounded before they are subtracted, so the sum of all differences is
            // the last value.
            Unit::Nanoseconds => Grown::Millis(Micros(micros(now).saturating_sub(micros(before)))),
            _ => Grown::Bytes(signed(now) - signed(before)),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Grown {
    Bytes(i64),
    Millis(Micros),
}

impl Serialize for Readings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let readings = self.0.readings();
        let mut table = serializer.serialize_struct("samples", 3)?;
        table.serialize_field(
            "time",
            &Column(|| readings.iter().map(|(time, _)| Micros::from_nanos(*time))),
        )?;
        table.serialize_field(
            "count",
            &Column(|| (0..readings.len()).map(|at| self.growth_since_previous(at))),
        )?;
        table.serialize_field("length", &readings.len())?;
        table.end()
    }
}

/// The way in which the front-end draws a counter.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Display<'a> {
    graph_type: &'static str,
    unit: &'static str,
    color: &'static str,
    marker_schema_location: Option<&'static str>,
    sort_weight: u8,
    label: &'a str,
    tooltip_rows: &'static [Tooltip],
}

#[derive(Serialize)]
struct Tooltip {
    r#type: &'static str,
    source: &'static str,
    format: Format,
    label: &'static str,
}

#[derive(Serialize)]
struct Format {
    unit: &'static str,
}

/// Draws the value itself at each time, such as bytes in use.
const USED: Display<'_> = Display {
    graph_type: "line-accumulated",
    unit: "bytes",
    color: "orange",
    marker_schema_location: None,
    sort_weight: 20,
    label: "",
    tooltip_rows: &[
        tooltip("accumulated", "bytes", "above the least of the graph"),
        tooltip("count-range", "bytes", "from the least to the most of the graph"),
    ],
};

/// Draws how fast a value grows, such as CPU time. A millisecond of CPU time in a millisecond is
/// one processor.
const SPENT: Display<'_> = Display {
    graph_type: "line-rate",
    unit: "",
    color: "blue",
    marker_schema_location: None,
    sort_weight: 25,
    label: "",
    tooltip_rows: &[
        tooltip("rate", "percent", "of one processor"),
        tooltip("accumulated", "number", "ms of CPU time up to here"),
        tooltip("committed-range-total", "number", "ms of CPU time in what is shown"),
    ],
};

const fn tooltip(source: &'static str, unit: &'static str, label: &'static str) -> Tooltip {
    Tooltip { r#type: "value", source, format: Format { unit }, label }
}
