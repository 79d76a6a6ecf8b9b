//! Joins the marker schemas, by which the front-end shows each kind of markers.
//!
//! Equal schemas become one. A different schema with the same name must get another name, or its
//! markers would be shown with the wrong fields.

use std::collections::HashMap;

use crate::document::Part;
use crate::error::Error;
use serde_json::{Map, Value};

/// The key of the schemas in a profile's `meta`.
pub const KEY: &str = "markerSchema";

/// The schemas of all profiles.
#[derive(Default)]
pub struct Schemas(Vec<Map<String, Value>>);

/// A kind of markers in the joined profile.
#[derive(Debug)]
pub struct MarkerKind {
    pub name: String,
    /// The keys of the fields that refer to the table of strings.
    pub texts: Vec<String>,
    /// True if the field `number` is the number of a refutation.
    pub has_number: bool,
}

impl Schemas {
    /// Adds a profile's schemas. Returns the joined kinds by their names in that profile.
    pub fn add(&mut self, meta: &Part) -> Result<HashMap<String, MarkerKind>, Error> {
        let mut kinds = HashMap::new();
        for schema in meta.get::<Vec<Map<String, Value>>>(KEY)? {
            let own =
                schema.get("name").and_then(Value::as_str).ok_or(Error::MarkerKindWithoutName)?.to_owned();
            let fields = schema.get("fields").and_then(Value::as_array).into_iter().flatten();
            let texts = fields
                .filter(|field| field["format"] == "unique-string")
                .filter_map(|field| field["key"].as_str().map(str::to_owned))
                .collect();
            let has_number = own == "refuted" || own == "refuted-frame";
            kinds.insert(own, MarkerKind { name: self.put(schema), texts, has_number });
        }
        Ok(kinds)
    }

    /// Adds a schema unless there is an equal one. Returns its name in the joined profile.
    fn put(&mut self, mut schema: Map<String, Value>) -> String {
        let rest = |schema: &Map<String, Value>| {
            let mut rest = schema.clone();
            rest.remove("name");
            rest
        };
        let name_of = |schema: &Map<String, Value>| schema["name"].as_str().unwrap_or_default().to_owned();
        let (own, shown) = (name_of(&schema), rest(&schema));
        let stem = |name: &str| name.rsplit_once('~').map_or(name, |(stem, _)| stem).to_owned();
        // Schemas of contexts have numbers as names, so they are equal if all else is equal.
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

    pub fn finish(self, meta: &mut Part) -> Result<(), Error> {
        meta.set(KEY, &self.0)
    }
}
