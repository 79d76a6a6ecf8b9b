//! Joins the shared tables of several profiles. Equal rows become one row.
//!
//! Only columns that refer to another table are changed. All others are kept, also unknown ones. An
//! invalid reference must be an error, and never be written.

use std::collections::BTreeMap;

use crate::document::Part;
use crate::error::Error;
use indexmap::IndexSet;
use serde::Serialize;
use serde_json::Value;

/// The columns of a table that refer to another table, with the name of that table.
type References = [(&'static str, &'static str)];

const STRINGS: &str = "stringArray";
const STACKS: &str = "stackTable";

/// All shared tables. A table comes after the tables that it refers to.
const TABLES: [(&str, &References); 4] = [
    ("sources", &[("filename", STRINGS)]),
    ("resourceTable", &[("name", STRINGS)]),
    ("funcTable", &[("name", STRINGS), ("resource", "resourceTable"), ("source", "sources")]),
    ("frameTable", &[("func", "funcTable")]),
];

/// The shared tables of the joined profile.
#[derive(Default)]
pub struct Tables {
    strings: IndexSet<String>,
    others: BTreeMap<&'static str, Table>,
    stacks: IndexSet<Stack>,
    /// The remaining values of the first profile. Vouch writes no rows in these tables.
    rest: Option<Part>,
}

#[derive(Default)]
struct Table {
    columns: IndexSet<String>,
    rows: IndexSet<Vec<Value>>,
    /// The cells of the column [`TEXT`], by row. They are separate, because an equal row of another
    /// profile may lack the text.
    texts: BTreeMap<usize, Value>,
}

/// The column with a source's text. Two rows are equal if only one of them has a text.
const TEXT: &str = "content";

#[derive(Debug, PartialEq, Eq, Hash)]
struct Stack {
    caller: Option<usize>,
    frame: usize,
}

/// For each table: the rows in the joined profile of one profile's rows.
pub struct RowMap {
    rows: BTreeMap<&'static str, Vec<usize>>,
}

impl RowMap {
    pub fn string(&self, row: usize) -> Result<usize, Error> {
        self.row(STRINGS, row)
    }

    pub fn stack(&self, row: usize) -> Result<usize, Error> {
        self.row(STACKS, row)
    }

    fn row(&self, table: &str, row: usize) -> Result<usize, Error> {
        let rows = self.rows.get(table);
        rows.and_then(|rows| rows.get(row))
            .copied()
            .ok_or_else(|| Error::NoRow { table: table.to_owned(), row })
    }

    /// Converts a cell that refers to a table. Null and -1 are no references.
    fn cell(&self, table: &str, cell: Value) -> Result<Value, Error> {
        match cell.as_u64().and_then(|row| usize::try_from(row).ok()) {
            Some(row) => Ok(self.row(table, row)?.into()),
            None => Ok(cell),
        }
    }
}

impl Tables {
    /// Adds a profile's tables. Returns the rows that its rows have in the joined tables.
    pub fn add(&mut self, shared: &Part) -> Result<RowMap, Error> {
        let mut row_map = RowMap { rows: BTreeMap::new() };
        let strings: Vec<String> = shared.get(STRINGS)?;
        let strings = strings.into_iter().map(|text| self.strings.insert_full(text).0).collect();
        row_map.rows.insert(STRINGS, strings);
        for (name, references) in TABLES {
            let rows = self.others.entry(name).or_default().add(&shared.get(name)?, references, &row_map);
            row_map
                .rows
                .insert(name, rows.map_err(|why| Error::InTable { table: name, why: Box::new(why) })?);
        }
        let stacks = self.add_stacks(&shared.get(STACKS)?, &row_map)?;
        row_map.rows.insert(STACKS, stacks);
        if self.rest.is_none() {
            let mut rest = Part::default();
            for key in shared.keys().filter(|key| ![STRINGS, STACKS].contains(key)) {
                if TABLES.iter().all(|(name, _)| name != &key) {
                    rest.set(key, &shared.get::<Value>(key)?)?;
                }
            }
            self.rest = Some(rest);
        }
        Ok(row_map)
    }

    fn add_stacks(&mut self, table: &Part, row_map: &RowMap) -> Result<Vec<usize>, Error> {
        let frames: Vec<usize> = table.get("frame")?;
        let offsets: Vec<usize> = table.get("prefixOffset")?;
        if frames.len() != offsets.len() {
            return Err(Error::ColumnLengths(STACKS));
        }
        let mut rows: Vec<usize> = Vec::with_capacity(frames.len());
        for (row, (frame, offset)) in frames.into_iter().zip(offsets).enumerate() {
            let caller = match offset {
                0 => None,
                _ => Some(row.checked_sub(offset).ok_or(Error::NoCaller(STACKS))?),
            };
            let caller = caller.map(|caller| rows[caller]);
            let frame = row_map.row("frameTable", frame)?;
            rows.push(self.stacks.insert_full(Stack { caller, frame }).0);
        }
        Ok(rows)
    }

    /// Returns the tables in a profile's format.
    pub fn finish(self) -> Result<Part, Error> {
        let mut shared = self.rest.unwrap_or_default();
        shared.set(STRINGS, &self.strings)?;
        for (name, table) in self.others {
            shared.set(name, &table.finish()?)?;
        }
        // A caller's row is always before its callee's row, in each profile and so in this one.
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
    fn add(&mut self, table: &Part, references: &References, row_map: &RowMap) -> Result<Vec<usize>, Error> {
        let length: usize = table.get("length")?;
        let mut columns: BTreeMap<&str, std::vec::IntoIter<Value>> = BTreeMap::new();
        for key in table.keys().filter(|key| *key != "length") {
            let cells: Vec<Value> = table.get(key)?;
            if cells.len() != length {
                return Err(Error::ColumnLength(key.to_owned()));
            }
            // Earlier profiles may lack this column, so their rows get null.
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
                    Some((_, to)) => row_map.cell(to, cell),
                    None => Ok(cell),
                }
            };
            let row: Vec<Value> = self.columns.iter().map(cell).collect::<Result<_, Error>>()?;
            rows.push(self.put(row));
        }
        Ok(rows)
    }

    /// Adds a row unless there is an equal one. Returns its index.
    fn put(&mut self, mut row: Vec<Value>) -> usize {
        let text =
            self.columns.get_index_of(TEXT).map_or(Value::Null, |column| std::mem::take(&mut row[column]));
        let index = self.rows.insert_full(row.clone()).0;
        if text.is_null() || *self.texts.entry(index).or_insert_with(|| text.clone()) == text {
            return index;
        }
        // Two files of the same name with different texts stay separate.
        if let Some(column) = self.columns.get_index_of(TEXT) {
            row[column] = text;
        }
        self.rows.insert_full(row).0
    }

    fn finish(self) -> Result<Part, Error> {
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
