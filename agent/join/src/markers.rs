//! What markers say, and how the front-end is to show them: kinds that two profiles show alike are
//! one.
//!
//! A kind of the same name that is shown otherwise must get a name of its own: the markers of the
//! other would be shown by its fields.

use std::collections::HashMap;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use vouch_document::{Part, Wrong};

use crate::clock::shifted;
use crate::tracks::Moving;

/// Where they stand in a profile's head.
pub const KEY: &str = "markerSchema";

/// The kinds of all.
#[derive(Default)]
pub struct Schemas(Vec<Map<String, Value>>);

/// What a profile's own kind has become.
#[derive(Debug)]
pub struct Kind {
    name: String,
    /// Its fields that refer to the table of strings.
    texts: Vec<String>,
    /// Its field `number` is that of a refutation.
    has_number: bool,
}

impl Schemas {
    /// Adds a profile's, by the names that they have there.
    pub fn add(&mut self, meta: &Part) -> Result<HashMap<String, Kind>, Wrong> {
        let mut kinds = HashMap::new();
        for schema in meta.get::<Vec<Map<String, Value>>>(KEY)? {
            let own = schema
                .get("name")
                .and_then(Value::as_str)
                .ok_or("a kind of its markers has no name")?
                .to_owned();
            let fields = schema.get("fields").and_then(Value::as_array).into_iter().flatten();
            let texts = fields
                .filter(|field| field["format"] == "unique-string")
                .filter_map(|field| field["key"].as_str().map(str::to_owned))
                .collect();
            let has_number = own == "refuted" || own == "refuted-frame";
            kinds.insert(own, Kind { name: self.put(schema), texts, has_number });
        }
        Ok(kinds)
    }

    /// The name under which it stands among all.
    fn put(&mut self, mut schema: Map<String, Value>) -> String {
        let rest = |schema: &Map<String, Value>| {
            let mut rest = schema.clone();
            rest.remove("name");
            rest
        };
        let name_of = |schema: &Map<String, Value>| schema["name"].as_str().unwrap_or_default().to_owned();
        let (own, shown) = (name_of(&schema), rest(&schema));
        let stem = |name: &str| name.rsplit_once('~').map_or(name, |(stem, _)| stem).to_owned();
        // Contexts are numbered, so what they are shown by tells them apart, and not their number.
        let is_same = |known: &&Map<String, Value>| {
            let name = name_of(known);
            rest(known) == shown
                && (stem(&name) == stem(&own) || own.starts_with("context-") && name.starts_with("context-"))
        };
        if let Some(known) = self.0.iter().find(is_same) {
            return name_of(known);
        }
        let taken = |name: &str| self.0.iter().any(|known| name_of(known) == name);
        let others = (2..).map(|number| format!("{}~{number}", stem(&own)));
        let name = std::iter::once(own.clone()).chain(others).find(|name| !taken(name)).unwrap_or(own);
        schema.insert("name".to_owned(), name.as_str().into());
        self.0.push(schema);
        name
    }

    pub fn finish(self, meta: &mut Part) -> Result<(), Wrong> {
        meta.set(KEY, &self.0)
    }
}

/// What a marker says, with its references as they stand among all.
pub fn data(data: &RawValue, moving: &mut Moving<'_>) -> Result<Box<RawValue>, Wrong> {
    let unread = |error: serde_json::Error| format!("a marker of it is of another shape: {error}");
    let Some(mut data) = serde_json::from_str::<Option<Map<String, Value>>>(data.get()).map_err(unread)?
    else {
        return Ok(data.to_owned());
    };
    let row = |value: &Value| value.as_u64().and_then(|row| usize::try_from(row).ok());
    if let Some(kind) = data.get("type").and_then(Value::as_str).and_then(|own| moving.kinds.get(own)) {
        data.insert("type".to_owned(), kind.name.as_str().into());
        for text in &kind.texts {
            if let Some(string) = data.get(text).and_then(row) {
                data.insert(text.clone(), moving.moved.string(string)?.into());
            }
        }
        if kind.has_number
            && let Some(number) = data.get("number").and_then(row)
        {
            data.insert("number".to_owned(), (moving.number)(number).into());
        }
    }
    if let Some(Value::Object(cause)) = data.get_mut("cause") {
        if let Some(stack) = cause.get("stack").and_then(row) {
            cause.insert("stack".to_owned(), moving.moved.stack(stack)?.into());
        }
        if let Some(time) = cause.get("time").and_then(Value::as_f64) {
            cause.insert("time".to_owned(), shifted(time, moving.shift_ms).into());
        }
    }
    to_raw_value(&data).map_err(unread)
}
