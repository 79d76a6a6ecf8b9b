//! Writes columns of JSON cell by cell.
//!
//! A column must never be collected in memory: its cells are read from the rows one at a time.

use std::iter::repeat_n;

use serde::{Serialize, Serializer};
use vouch_recording::Id;

/// Serialises the items of an iterator as an array. The closure creates the iterator.
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

/// Serialises one value several times, as an array. The value `()` becomes null.
pub struct Repeat<T>(pub T, pub usize);

impl<T: Serialize> Serialize for Repeat<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(repeat_n(&self.0, self.1))
    }
}

/// Serialises an id as the number of its row.
pub struct Row<I>(pub I);

impl<I: Id> Serialize for Row<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.row().serialize(serializer)
    }
}
