//! A table in which each row stands once: asking for a row that is there gives its id.
//!
//! It must never move a row or take one out: ids are row numbers, and are out in samples already.

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};

use crate::ids::Id;

/// The rows, in the order of their ids. Whoever has the table can read them; only a recording adds to it.
#[derive(Debug)]
pub struct Table<Row, I> {
    rows: Vec<Row>,
    ids: HashMap<Row, I>,
}

impl<Row: Copy + Eq + Hash, I: Id> Table<Row, I> {
    pub(crate) fn intern(&mut self, row: Row) -> I {
        *self.ids.entry(row).or_insert_with(|| {
            self.rows.push(row);
            I::from_row(self.rows.len() - 1)
        })
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn get(&self, id: I) -> Row {
        self.rows[id.row()]
    }

    /// Memory taken, near enough: the rows, and for each slot of the map its entry and one byte of control.
    pub(crate) fn bytes(&self) -> u64 {
        let rows = self.rows.capacity() * size_of::<Row>();
        let ids = self.ids.capacity() * 8 / 7 * (size_of::<(Row, I)>() + 1);
        (rows + ids) as u64
    }
}

impl<Row, I> Default for Table<Row, I> {
    fn default() -> Self {
        Self { rows: Vec::new(), ids: HashMap::new() }
    }
}
