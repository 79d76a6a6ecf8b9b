//! Profiles into which a recording of JFR's was merged, as the tables' makers read them.

use serde_json::Value;

/// A marker: when it begins and ends, in milliseconds, and what it says.
#[derive(Debug, Clone, Copy)]
pub struct Marker<'p> {
    pub start_ms: Option<f64>,
    pub end_ms: Option<f64>,
    pub data: &'p Value,
}

/// All markers of all tracks.
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
