//! A JSON document that is changed in some parts and otherwise kept.
//!
//! Unchanged values stay text, byte for byte. They must never be parsed and written again, so that
//! nothing unknown is lost.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::Error;

/// A JSON object with values that are parsed only when they are read.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(BTreeMap<String, Box<RawValue>>);

impl Part {
    /// Converts a value that serialises to an object.
    pub fn from_value(value: &impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_string(value)?;
        Ok(serde_json::from_str(&text)?)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Parses the value of a key. A missing key is an error.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        self.find(key)?.ok_or_else(|| Error::Missing(key.to_owned()))
    }

    /// Parses the value of a key. `None` if the key is missing.
    pub fn find<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let value = self.0.get(key).map(|value| serde_json::from_str(value.get()));
        value.transpose().map_err(|why| Error::Shape { key: key.to_owned(), why })
    }

    /// Removes a key and parses its value.
    pub fn take<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, Error> {
        let part = self.get(key);
        self.remove(key);
        part
    }

    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    pub fn set(&mut self, key: &str, value: &impl Serialize) -> Result<(), Error> {
        let value = to_raw_value(value)?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    /// Adds items to the end of a list.
    pub fn extend(&mut self, key: &str, items: &[Box<RawValue>]) -> Result<(), Error> {
        let old = self.0.get(key).map_or("[]", |old| old.get().trim());
        let body = old.strip_prefix('[').and_then(|old| old.strip_suffix(']'));
        let body = body.ok_or_else(|| Error::NotAList(key.to_owned()))?.trim();
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
        let value = RawValue::from_string(text)?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    /// Adds rows to a table. Columns that are not in `columns` get nulls.
    pub fn add_rows(&mut self, columns: &[(&str, Vec<Value>)]) -> Result<(), Error> {
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        let length: usize = self.get("length")?;
        let null = vec![Value::Null; rows];
        for key in self.0.keys().cloned().collect::<Vec<_>>() {
            if key == "length" {
                continue;
            }
            let cells = columns.iter().find(|(known, _)| *known == key).map_or(&null, |(_, cells)| cells);
            let cells: Result<Vec<_>, _> = cells.iter().map(to_raw_value).collect();
            self.extend(&key, &cells?)?;
        }
        self.set("length", &(length + rows))
    }
}
