//! Reads the markers of profiles into which a Flight Recorder file was merged.

use serde_json::Value;

/// A marker: its start and end in milliseconds, and its data.
#[derive(Debug, Clone, Copy)]
pub struct Marker<'p> {
    pub start_ms: Option<f64>,
    pub end_ms: Option<f64>,
    pub data: &'p Value,
}

/// Returns all markers of all tracks.
pub fn markers(profile: &Value) -> impl Iterator<Item = Marker<'_>> {
    let tables = profile["threads"].as_array().into_iter().flatten().map(|thread| &thread["markers"]);
    tables.flat_map(|table| {
        let rows = table["data"].as_array().into_iter().flatten().enumerate();
        rows.map(move |(row, data)| Marker {
            start_ms: table["startTime"][row].as_f64(),
            end_ms: table["endTime"][row].as_f64(),
            data,
        })
    })
}
