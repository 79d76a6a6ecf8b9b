//! How the front-end is to show markers: kinds that two profiles show alike are one.
//!
//! A kind of the same name that is shown otherwise must get a name of its own: the markers of the
//! other would be shown by its fields.

use std::collections::HashMap;

use crate::document::{Part, Wrong};
use serde_json::{Map, Value};

/// Where they stand in a profile's head.
pub const KEY: &str = "markerSchema";

/// The kinds of all.
#[derive(Default)]
pub struct Schemas(Vec<Map<String, Value>>);

/// What a profile's own kind has become.
#[derive(Debug)]
pub struct Kind {
    pub name: String,
    /// Its fields that refer to the table of strings.
    pub texts: Vec<String>,
    /// Its field `number` is that of a refutation.
    pub has_number: bool,
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
