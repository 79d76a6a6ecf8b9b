//! Figures of the process beside the threads: each a graph of its own.
//!
//! The front-end wants what a figure has grown by since it was looked at last: the first of these is what it was.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::Counter;

use super::time::Micros;
use crate::json::Column;

/// One counter of a process.
pub struct CounterColumns<'a> {
    pub counter: &'a Counter,
    pub pid: u32,
}

impl Serialize for CounterColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counter = serializer.serialize_struct("counter", 7)?;
        counter.serialize_field("name", &self.counter.name)?;
        // By which the front-end draws what has been used, in bytes.
        counter.serialize_field("category", "Memory")?;
        counter.serialize_field("description", &self.counter.description)?;
        counter.serialize_field("pid", &self.pid.to_string())?;
        counter.serialize_field("mainThreadIndex", &0)?;
        counter.serialize_field("samples", &Readings(self.counter.readings()))?;
        counter.serialize_field("display", &Display { label: &self.counter.name, ..DISPLAY })?;
        counter.end()
    }
}

struct Readings<'a>(&'a [(u64, u64)]);

impl Serialize for Readings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(readings) = self;
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let grown = |at: usize| {
            let before = at.checked_sub(1).map_or(0, |before| readings[before].1);
            signed(readings[at].1) - signed(before)
        };
        let mut table = serializer.serialize_struct("samples", 3)?;
        table.serialize_field(
            "time",
            &Column(|| readings.iter().map(|(time, _)| Micros::from_nanos(*time))),
        )?;
        table.serialize_field("count", &Column(|| (0..readings.len()).map(grown)))?;
        table.serialize_field("length", &readings.len())?;
        table.end()
    }
}

/// How the front-end draws it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Display<'a> {
    graph_type: &'static str,
    unit: &'static str,
    color: &'static str,
    marker_schema_location: Option<&'static str>,
    sort_weight: u8,
    label: &'a str,
    tooltip_rows: [Tooltip; 2],
}

#[derive(Serialize)]
struct Tooltip {
    r#type: &'static str,
    source: &'static str,
    format: Unit,
    label: &'static str,
}

#[derive(Serialize)]
struct Unit {
    unit: &'static str,
}

const DISPLAY: Display<'_> = Display {
    graph_type: "line-accumulated",
    unit: "bytes",
    color: "orange",
    marker_schema_location: None,
    sort_weight: 20,
    label: "",
    tooltip_rows: [
        tooltip("accumulated", "above the least of the graph"),
        tooltip("count-range", "from the least to the most of the graph"),
    ],
};

const fn tooltip(source: &'static str, label: &'static str) -> Tooltip {
    Tooltip { r#type: "value", source, format: Unit { unit: "bytes" }, label }
}
