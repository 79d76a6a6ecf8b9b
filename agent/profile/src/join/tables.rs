//! The shared tables of several profiles as one, in which each row stands once.
//!
//! A column is kept as it stands, whatever it is of; only what refers to another table is changed.
//! A reference to what is not there must be told, and never written.

use std::collections::BTreeMap;

use crate::document::{Part, Wrong};
use indexmap::IndexSet;
use serde::Serialize;
use serde_json::Value;

/// The columns of a table that refer to another.
type References = [(&'static str, &'static str)];

const STRINGS: &str = "stringArray";
const STACKS: &str = "stackTable";

/// A table comes behind those that it refers to.
const TABLES: [(&str, &References); 4] = [
    ("sources", &[("filename", STRINGS)]),
    ("resourceTable", &[("name", STRINGS)]),
    ("funcTable", &[("name", STRINGS), ("resource", "resourceTable"), ("source", "sources")]),
    ("frameTable", &[("func", "funcTable")]),
];

/// The tables of all.
#[derive(Default)]
pub struct Tables {
    strings: IndexSet<String>,
    others: BTreeMap<&'static str, Table>,
    stacks: IndexSet<Stack>,
    /// What has no rows in a profile of Vouch's, as it stands.
    rest: Option<Part>,
}

#[derive(Default)]
struct Table {
    columns: IndexSet<String>,
    rows: IndexSet<Vec<Value>>,
    /// Of rows that got it later, or from another profile, what stands in the column [`TEXT`].
    texts: BTreeMap<usize, Value>,
}

/// A source's text, which one profile has and another has not: the source is the same.
const TEXT: &str = "content";

#[derive(Debug, PartialEq, Eq, Hash)]
struct Stack {
    caller: Option<usize>,
    frame: usize,
}

/// Where a profile's own rows have come to stand.
pub struct Moved {
    rows: BTreeMap<&'static str, Vec<usize>>,
}

impl Moved {
    pub fn string(&self, row: usize) -> Result<usize, Wrong> {
        self.row(STRINGS, row)
    }

    pub fn stack(&self, row: usize) -> Result<usize, Wrong> {
        self.row(STACKS, row)
    }

    fn row(&self, table: &str, row: usize) -> Result<usize, Wrong> {
        let rows = self.rows.get(table);
        rows.and_then(|rows| rows.get(row)).copied().ok_or_else(|| format!("it has no row {row} in {table}"))
    }

    /// A cell that refers to a table; null and -1 refer to nothing.
    fn cell(&self, table: &str, cell: Value) -> Result<Value, Wrong> {
        match cell.as_u64().and_then(|row| usize::try_from(row).ok()) {
            Some(row) => Ok(self.row(table, row)?.into()),
            None => Ok(cell),
        }
    }
}

impl Tables {
    /// Adds a profile's.
    pub fn add(&mut self, shared: &Part) -> Result<Moved, Wrong> {
        let mut moved = Moved { rows: BTreeMap::new() };
        let strings: Vec<String> = shared.get(STRINGS)?;
        let strings = strings.into_iter().map(|text| self.strings.insert_full(text).0).collect();
        moved.rows.insert(STRINGS, strings);
        for (name, references) in TABLES {
            let rows = self.others.entry(name).or_default().add(&shared.get(name)?, references, &moved);
            moved.rows.insert(name, rows.map_err(|wrong| format!("its {name}: {wrong}"))?);
        }
        let stacks = self.add_stacks(&shared.get(STACKS)?, &moved)?;
        moved.rows.insert(STACKS, stacks);
        if self.rest.is_none() {
            let mut rest = Part::default();
            for key in shared.keys().filter(|key| ![STRINGS, STACKS].contains(key)) {
                if TABLES.iter().all(|(name, _)| name != &key) {
                    rest.set(key, &shared.get::<Value>(key)?)?;
                }
            }
            self.rest = Some(rest);
        }
        Ok(moved)
    }

    fn add_stacks(&mut self, table: &Part, moved: &Moved) -> Result<Vec<usize>, Wrong> {
        let frames: Vec<usize> = table.get("frame")?;
        let offsets: Vec<usize> = table.get("prefixOffset")?;
        if frames.len() != offsets.len() {
            return Err(format!("its {STACKS} has columns of different lengths"));
        }
        let mut rows: Vec<usize> = Vec::with_capacity(frames.len());
        for (row, (frame, offset)) in frames.into_iter().zip(offsets).enumerate() {
            let caller = match offset {
                0 => None,
                _ => Some(
                    row.checked_sub(offset)
                        .ok_or_else(|| format!("its {STACKS} has no row before its first"))?,
                ),
            };
            let caller = caller.map(|caller| rows[caller]);
            let frame = moved.row("frameTable", frame)?;
            rows.push(self.stacks.insert_full(Stack { caller, frame }).0);
        }
        Ok(rows)
    }

    /// All of them, as a profile has them.
    pub fn finish(self) -> Result<Part, Wrong> {
        let mut shared = self.rest.unwrap_or_default();
        shared.set(STRINGS, &self.strings)?;
        for (name, table) in self.others {
            shared.set(name, &table.finish()?)?;
        }
        // A caller has a smaller number than what it calls, in each profile and so here.
        let offset = |(row, stack): (usize, &Stack)| stack.caller.map_or(0, |caller| row - caller);
        let stacks = Stacks {
            length: self.stacks.len(),
            frame: self.stacks.iter().map(|stack| stack.frame).collect(),
            prefix_offset: self.stacks.iter().enumerate().map(offset).collect(),
        };
        shared.set(STACKS, &stacks)?;
        Ok(shared)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stacks {
    length: usize,
    frame: Vec<usize>,
    prefix_offset: Vec<usize>,
}

impl Table {
    fn add(&mut self, table: &Part, references: &References, moved: &Moved) -> Result<Vec<usize>, Wrong> {
        let length: usize = table.get("length")?;
        let mut columns: BTreeMap<&str, std::vec::IntoIter<Value>> = BTreeMap::new();
        for key in table.keys().filter(|key| *key != "length") {
            let cells: Vec<Value> = table.get(key)?;
            if cells.len() != length {
                return Err(format!("{key} is not as long as it says"));
            }
            // Of a column that only later ones have, the rows so far have nothing.
            if self.columns.insert(key.to_owned()) {
                self.rows = std::mem::take(&mut self.rows)
                    .into_iter()
                    .map(|mut row| {
                        row.push(Value::Null);
                        row
                    })
                    .collect();
            }
            columns.insert(key, cells.into_iter());
        }
        let mut rows = Vec::with_capacity(length);
        for _ in 0..length {
            let cell = |column: &String| {
                let cell = columns.get_mut(&**column).and_then(Iterator::next).unwrap_or(Value::Null);
                match references.iter().find(|(referring, _)| referring == column) {
                    Some((_, to)) => moved.cell(to, cell),
                    None => Ok(cell),
                }
            };
            let row: Vec<Value> = self.columns.iter().map(cell).collect::<Result<_, Wrong>>()?;
            rows.push(self.put(row));
        }
        Ok(rows)
    }

    /// The place of a row.
    fn put(&mut self, mut row: Vec<Value>) -> usize {
        let text =
            self.columns.get_index_of(TEXT).map_or(Value::Null, |column| std::mem::take(&mut row[column]));
        let place = self.rows.insert_full(row.clone()).0;
        if text.is_null() || *self.texts.entry(place).or_insert_with(|| text.clone()) == text {
            return place;
        }
        // Two texts of one name are two files.
        if let Some(column) = self.columns.get_index_of(TEXT) {
            row[column] = text;
        }
        self.rows.insert_full(row).0
    }

    fn finish(self) -> Result<Part, Wrong> {
        let mut table = Part::default();
        table.set("length", &self.rows.len())?;
        let mut cells: Vec<Vec<Value>> =
            self.columns.iter().map(|_| Vec::with_capacity(self.rows.len())).collect();
        for row in self.rows {
            for (column, cell) in cells.iter_mut().zip(row) {
                column.push(cell);
            }
        }
        if let Some(column) = self.columns.get_index_of(TEXT) {
            for (row, text) in self.texts {
                cells[column][row] = text;
            }
        }
        for (name, cells) in self.columns.iter().zip(&cells) {
            table.set(name, cells)?;
        }
        Ok(table)
    }
}
