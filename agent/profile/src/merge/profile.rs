//! The profile to which a recording's events are added.
//!
//! Only strings, rows at the end of tables, and markers may be added. Nothing else may change.

use std::collections::HashMap;

use crate::document::Part;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// A marker that is to be added.
#[derive(Debug)]
pub struct Marker {
    pub name: usize,
    pub start_ms: f64,
    pub end_ms: Option<f64>,
    pub category: usize,
    pub data: Box<RawValue>,
}

/// A profile that Vouch wrote, divided into its parts.
#[derive(Debug)]
pub struct Profile {
    pub meta: Part,
    pub threads: Vec<Part>,
    shared: Part,
    rest: Part,
    strings: HashMap<String, usize>,
    texts: Vec<String>,
    old_strings: usize,
}

impl Profile {
    pub fn new(mut document: Part) -> Result<Self, Error> {
        let (meta, shared): (Part, Part) = (document.take("meta")?, document.take("shared")?);
        let report: Option<Part> = meta.find("vouch")?;
        if report.is_some_and(|report| report.find::<String>("recorder").is_ok_and(|name| name.is_some())) {
            return Err(Error::AuditedRecording);
        }
        let threads = document.take("threads")?;
        let texts: Vec<String> = shared.get("stringArray")?;
        let old_strings = texts.len();
        let strings = texts.iter().cloned().enumerate().map(|(row, text)| (text, row)).collect();
        Ok(Self { meta, threads, shared, rest: document, strings, texts, old_strings })
    }

    /// True if more than one process was profiled. A process that only a Flight Recorder file has
    /// does not count.
    pub fn has_several_processes(&self) -> Result<bool, Error> {
        let processes: Vec<Value> = self.meta.find("vouchProcesses")?.unwrap_or_default();
        let is_profiled =
            |process: &&Value| process["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        Ok(processes.iter().filter(is_profiled).count() > 1)
    }

    /// Returns the row of a text, which is added if it is new.
    pub fn string(&mut self, text: &str) -> usize {
        if let Some(row) = self.strings.get(text) {
            return *row;
        }
        let row = self.texts.len();
        self.texts.push(text.to_owned());
        self.strings.insert(text.to_owned(), row);
        row
    }

    /// Returns the number of rows of a shared table.
    pub fn rows(&self, table: &str) -> Result<usize, Error> {
        self.shared.get::<Part>(table)?.get("length")
    }

    /// Adds rows to a shared table.
    pub fn add_rows(&mut self, table: &str, columns: &[(&str, Vec<Value>)]) -> Result<(), Error> {
        let mut rows: Part = self.shared.get(table)?;
        rows.add_rows(columns)?;
        self.shared.set(table, &rows)
    }

    /// Makes these tracks visible when the profile is opened.
    pub fn show(&mut self, tracks: impl Iterator<Item = usize>) -> Result<(), Error> {
        let mut shown: Vec<usize> = self.meta.find("initialVisibleThreads")?.unwrap_or_default();
        shown.extend(tracks);
        shown.sort_unstable();
        self.meta.set("initialVisibleThreads", &shown)
    }

    /// Adds markers to a thread, sorted by time.
    pub fn add_markers(&mut self, thread: usize, markers: Vec<Marker>) -> Result<(), Error> {
        let table: Part = self.threads[thread].get("markers")?;
        let old = Markers::read(&table)?;
        let mut rows: Vec<_> = old.into_rows().chain(markers).collect();
        // If several markers begin together, the longest must come first.
        rows.sort_by(|one, other| {
            let end = |marker: &Marker| marker.end_ms.unwrap_or(marker.start_ms);
            one.start_ms.total_cmp(&other.start_ms).then(end(other).total_cmp(&end(one)))
        });
        self.threads[thread].set("markers", &Markers::from_rows(rows))?;
        self.threads[thread].set("showMarkersInTimeline", &true)
    }

    /// Returns the whole document.
    pub fn into_document(mut self) -> Result<Part, Error> {
        let strings: Result<Vec<_>, _> = self.texts[self.old_strings..].iter().map(to_raw_value).collect();
        self.shared.extend("stringArray", &strings?)?;
        self.rest.set("meta", &self.meta)?;
        self.rest.set("shared", &self.shared)?;
        self.rest.set("threads", &self.threads)?;
        Ok(self.rest)
    }
}

/// The markers of a thread, column by column.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Markers {
    length: usize,
    data: Vec<Box<RawValue>>,
    name: Vec<usize>,
    start_time: Vec<f64>,
    end_time: Vec<Option<f64>>,
    phase: Vec<u8>,
    category: Vec<usize>,
}

impl Markers {
    fn read(table: &Part) -> Result<Self, Error> {
        let markers = Self {
            length: table.get("length")?,
            data: table.get("data")?,
            name: table.get("name")?,
            start_time: table.get("startTime")?,
            end_time: table.get("endTime")?,
            phase: table.get("phase")?,
            category: table.get("category")?,
        };
        let lengths = [
            markers.data.len(),
            markers.name.len(),
            markers.start_time.len(),
            markers.end_time.len(),
            markers.category.len(),
        ];
        let whole = lengths.iter().all(|length| *length == markers.length);
        // Vouch writes instants and intervals, and no markers with two rows.
        let known = markers.phase.iter().all(|phase| *phase <= 1);
        if whole && known { Ok(markers) } else { Err(Error::MarkersShape) }
    }

    fn into_rows(self) -> impl Iterator<Item = Marker> {
        let Self { data, name, start_time, end_time, category, .. } = self;
        let columns = data.into_iter().zip(name).zip(start_time).zip(end_time).zip(category);
        columns.map(|((((data, name), start_ms), end_ms), category)| Marker {
            name,
            start_ms,
            end_ms,
            category,
            data,
        })
    }

    fn from_rows(rows: Vec<Marker>) -> Self {
        let mut markers = Self { length: rows.len(), ..Self::default() };
        for Marker { name, start_ms, end_ms, category, data } in rows {
            markers.data.push(data);
            markers.name.push(name);
            markers.start_time.push(start_ms);
            markers.end_time.push(end_ms);
            markers.phase.push(u8::from(end_ms.is_some()));
            markers.category.push(category);
        }
        markers
    }
}

/// Returns an empty table of markers, for a new track.
pub fn no_markers() -> Value {
    json!({
        "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
    })
}
