//! Joins the tables of contexts. Equal contexts of two profiles become one.
//!
//! `vouch top` reads this table; the front-end ignores it.

use crate::document::Part;
use crate::error::Error;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::join::tables::RowMap;

/// The key of the table in a profile's `meta`.
const KEY: &str = "vouchContexts";

/// The contexts of all profiles.
#[derive(Default)]
pub struct Contexts {
    kinds: IndexSet<ContextKind>,
    rows: IndexSet<Row>,
}

/// A kind of contexts in a profile. Each number is a row of the table of strings.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextKind {
    pub class: usize,
    pub label: usize,
    pub fields: Vec<usize>,
    pub field_labels: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Row {
    outer: Option<usize>,
    kind: usize,
    values: Vec<usize>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Columns {
    kinds: Vec<ContextKind>,
    length: usize,
    outer: Vec<Option<usize>>,
    kind: Vec<usize>,
    values: Vec<Vec<usize>>,
}

impl Contexts {
    /// Adds a profile's contexts. Returns the new row of each.
    pub fn add(&mut self, meta: &Part, row_map: &RowMap) -> Result<Vec<usize>, Error> {
        let Columns { kinds, length, outer, kind, values } = meta.find(KEY)?.unwrap_or_default();
        if [outer.len(), kind.len(), values.len()] != [length; 3] {
            return Err(Error::ColumnLengths(KEY));
        }
        let strings = |rows: Vec<usize>| {
            rows.into_iter().map(|row| row_map.string(row)).collect::<Result<Vec<_>, Error>>()
        };
        let mut kind_rows = Vec::new();
        for ContextKind { class, label, fields, field_labels } in kinds {
            let kind = ContextKind {
                class: row_map.string(class)?,
                label: row_map.string(label)?,
                fields: strings(fields)?,
                field_labels: strings(field_labels)?,
            };
            kind_rows.push(self.kinds.insert_full(kind).0);
        }
        let mut rows: Vec<usize> = Vec::new();
        for ((outer, kind), values) in outer.into_iter().zip(kind).zip(values) {
            let outer = outer.map(|row| rows.get(row).copied().ok_or(Error::Dangling(KEY))).transpose()?;
            let kind = kind_rows.get(kind).copied().ok_or(Error::Dangling(KEY))?;
            let row = Row { outer, kind, values: strings(values)? };
            rows.push(self.rows.insert_full(row).0);
        }
        Ok(rows)
    }

    /// Writes the table to the joined profile's `meta`.
    pub fn finish(self, meta: &mut Part) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut columns = Columns {
            kinds: self.kinds.into_iter().collect(),
            length: self.rows.len(),
            ..Columns::default()
        };
        for Row { outer, kind, values } in self.rows {
            columns.outer.push(outer);
            columns.kind.push(kind);
            columns.values.push(values);
        }
        meta.set(KEY, &columns)
    }
}
