//! A profile that was written, to be written again with more in it.
//!
//! What is not added to is kept as it stands, letter for letter: it must never be understood, and so never be lost.

use std::collections::BTreeMap;
use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// A mistake in a profile, as the end of a sentence.
pub type Wrong = String;

/// An object whose values are text until somebody asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(BTreeMap<String, Box<RawValue>>);

impl Part {
    pub fn of(value: &impl Serialize) -> Result<Self, Wrong> {
        let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What stands under a key.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<T, Wrong> {
        self.find(key)?.ok_or_else(|| format!("it has no {key}"))
    }

    /// What stands under a key, if there is such a key.
    pub fn find<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Wrong> {
        let value = self.0.get(key).map(|value| serde_json::from_str(value.get()));
        value.transpose().map_err(|error| format!("its {key} is of another shape: {error}"))
    }

    pub fn set(&mut self, key: &str, value: &impl Serialize) -> Result<(), Wrong> {
        let value = to_raw_value(value).map_err(|error| error.to_string())?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    /// Adds items to the end of a list.
    fn extend(&mut self, key: &str, items: &[Box<RawValue>]) -> Result<(), Wrong> {
        let old = self.0.get(key).map_or("[]", |old| old.get().trim());
        let body = old.strip_prefix('[').and_then(|old| old.strip_suffix(']'));
        let body = body.ok_or_else(|| format!("its {key} is no list"))?.trim();
        let mut text =
            String::with_capacity(old.len() + items.iter().map(|item| item.get().len() + 1).sum::<usize>());
        text.push('[');
        text.push_str(body);
        for (at, item) in items.iter().enumerate() {
            if at > 0 || !body.is_empty() {
                text.push(',');
            }
            text.push_str(item.get());
        }
        text.push(']');
        let value = RawValue::from_string(text).map_err(|error| error.to_string())?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    /// Adds rows to a table; a column that is not among `columns` gets nulls.
    fn add_rows(&mut self, columns: &[(&str, Vec<Value>)]) -> Result<(), Wrong> {
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        let length: usize = self.get("length")?;
        let null = vec![Value::Null; rows];
        for key in self.0.keys().cloned().collect::<Vec<_>>() {
            if key == "length" {
                continue;
            }
            let cells = columns.iter().find(|(known, _)| *known == key).map_or(&null, |(_, cells)| cells);
            let cells: Result<Vec<_>, _> = cells.iter().map(to_raw_value).collect();
            self.extend(&key, &cells.map_err(|error| error.to_string())?)?;
        }
        self.set("length", &(length + rows))
    }
}

/// A marker to be added.
#[derive(Debug)]
pub struct Marker {
    pub name: usize,
    pub start_ms: f64,
    pub end_ms: Option<f64>,
    pub category: usize,
    pub data: Box<RawValue>,
}

/// A profile of Vouch's.
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
    pub fn new(mut document: Part) -> Result<Self, Wrong> {
        let mut part = |key: &str| {
            let part = document.get(key);
            document.0.remove(key);
            part
        };
        let (meta, shared): (Part, Part) = (part("meta")?, part("shared")?);
        let threads = document.get("threads")?;
        document.0.remove("threads");
        let texts: Vec<String> = shared.get("stringArray")?;
        let old_strings = texts.len();
        let strings = texts.iter().cloned().enumerate().map(|(row, text)| (text, row)).collect();
        Ok(Self { meta, threads, shared, rest: document, strings, texts, old_strings })
    }

    /// The row of a text.
    pub fn string(&mut self, text: &str) -> usize {
        if let Some(row) = self.strings.get(text) {
            return *row;
        }
        let row = self.texts.len();
        self.texts.push(text.to_owned());
        self.strings.insert(text.to_owned(), row);
        row
    }

    /// How many rows a shared table has.
    pub fn rows(&self, table: &str) -> Result<usize, Wrong> {
        self.shared.get::<Part>(table)?.get("length")
    }

    /// Adds rows to a shared table.
    pub fn add_rows(&mut self, table: &str, columns: &[(&str, Vec<Value>)]) -> Result<(), Wrong> {
        let mut rows: Part = self.shared.get(table)?;
        rows.add_rows(columns)?;
        self.shared.set(table, &rows)
    }

    /// Has the front-end show these tracks from the beginning.
    pub fn show(&mut self, tracks: impl Iterator<Item = usize>) -> Result<(), Wrong> {
        let mut shown: Vec<usize> = self.meta.find("initialVisibleThreads")?.unwrap_or_default();
        shown.extend(tracks);
        shown.sort_unstable();
        self.meta.set("initialVisibleThreads", &shown)
    }

    /// Adds markers to a thread's, where they belong by their times.
    pub fn add_markers(&mut self, thread: usize, markers: Vec<Marker>) -> Result<(), Wrong> {
        let table: Part = self.threads[thread].get("markers")?;
        let old = Markers::read(&table)?;
        let mut rows: Vec<_> = old.into_rows().chain(markers).collect();
        // Of those that begin together the one around the others first.
        rows.sort_by(|one, other| {
            let end = |marker: &Marker| marker.end_ms.unwrap_or(marker.start_ms);
            one.start_ms.total_cmp(&other.start_ms).then(end(other).total_cmp(&end(one)))
        });
        self.threads[thread].set("markers", &Markers::of(rows))?;
        self.threads[thread].set("showMarkersInTimeline", &true)
    }

    /// All of it, as it is to be written.
    pub fn into_document(mut self) -> Result<Part, Wrong> {
        let strings: Result<Vec<_>, _> = self.texts[self.old_strings..].iter().map(to_raw_value).collect();
        self.shared.extend("stringArray", &strings.map_err(|error| error.to_string())?)?;
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
    fn read(table: &Part) -> Result<Self, Wrong> {
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
        // Vouch writes instants and intervals, and no marker whose ends stand in two rows.
        let known = markers.phase.iter().all(|phase| *phase <= 1);
        if whole && known { Ok(markers) } else { Err("its markers are of another shape".to_owned()) }
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

    fn of(rows: Vec<Marker>) -> Self {
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

/// A table without rows, as a track that is new has them.
pub fn no_markers() -> Value {
    json!({
        "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
    })
}
