//! A table in which each row stands once: asking for a row that is there gives its id.
//!
//! It must never move a row or take one out: ids are row numbers, and are out in samples already.

use std::hash::Hash;

use crate::ids::Id;
use crate::index::Index;

/// The rows, in the order of their ids. Whoever has the table can read them; a recording alone adds
/// to its own.
#[derive(Debug)]
pub struct Table<Row, I> {
    rows: Vec<Row>,
    ids: Index<I>,
}

impl<Row: Copy + Eq + Hash, I: Id> Table<Row, I> {
    pub fn intern(&mut self, row: Row) -> I {
        self.find(row).unwrap_or_else(|| {
            let Self { rows, ids } = self;
            let id = I::from_row(rows.len());
            rows.push(row);
            ids.add(&row, id, |id| rows[id.row()]);
            id
        })
    }

    pub fn find(&self, row: Row) -> Option<I> {
        self.ids.find(&row, |id| self.rows[id.row()] == row)
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn get(&self, id: I) -> Row {
        self.rows[id.row()]
    }

    /// Memory taken, near enough.
    pub(crate) fn bytes(&self) -> u64 {
        (self.rows.capacity() * size_of::<Row>() + self.ids.bytes()) as u64
    }
}

impl<Row, I> Default for Table<Row, I> {
    fn default() -> Self {
        Self { rows: Vec::new(), ids: Index::default() }
    }
}
