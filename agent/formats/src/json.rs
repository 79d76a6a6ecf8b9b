//! Columns of JSON, made while they are written.
//!
//! It must never collect a column: a table's columns are read off its rows, one cell at a time.

use std::iter::repeat_n;

use serde::{Serialize, Serializer};
use vouch_recording::Id;

/// The array of what an iterator gives; the closure makes a new iterator for each writing.
pub struct Column<F>(pub F);

impl<F, I> Serialize for Column<F>
where
    F: Fn() -> I,
    I: IntoIterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// One value, so many times. `()` is null.
pub struct Repeat<T>(pub T, pub usize);

impl<T: Serialize> Serialize for Repeat<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(repeat_n(&self.0, self.1))
    }
}

/// An id, as the number of its row.
pub struct Row<I>(pub I);

impl<I: Id> Serialize for Row<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.row().serialize(serializer)
    }
}
