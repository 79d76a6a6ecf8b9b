//! A table that stores each row once: adding an equal row returns the id of the first.
//!
//! The table must never move or remove a row, since samples contain row numbers.

use std::hash::Hash;

use crate::ids::Id;
use crate::index::Index;

/// A table of rows, in the order of their ids.
#[derive(Debug)]
pub struct Table<Row, I> {
    rows: Vec<Row>,
    ids: Index<I>,
}

impl<Row: Copy + Eq + Hash, I: Id> Table<Row, I> {
    /// Adds a row if the table does not have it, and returns its id.
    pub fn intern(&mut self, row: Row) -> I {
        self.find(row).unwrap_or_else(|| {
            let Self { rows, ids } = self;
            let id = I::from_row(rows.len());
            rows.push(row);
            ids.add(&row, id, |id| rows[id.row()]);
            id
        })
    }

    /// Returns the id of a row, if the table has it.
    pub fn find(&self, row: Row) -> Option<I> {
        self.ids.find(&row, |id| self.rows[id.row()] == row)
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn get(&self, id: I) -> Row {
        self.rows[id.row()]
    }

    /// Returns the approximate memory of the table, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.rows.capacity() * size_of::<Row>() + self.ids.bytes()) as u64
    }
}

impl<Row, I> Default for Table<Row, I> {
    fn default() -> Self {
        Self { rows: Vec::new(), ids: Index::default() }
    }
}
