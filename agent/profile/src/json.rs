//! Columns of JSON, made while they are written.
//!
//! It must never collect a column: a table's columns are read off its rows, one cell at a time.

use std::iter::repeat_n;

use serde::{Serialize, Serializer};

/// The array of what an iterator gives; the closure makes a new iterator for each writing.
pub(crate) struct Column<F>(pub(crate) F);

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
pub(crate) struct Repeat<T>(pub(crate) T, pub(crate) usize);

impl<T: Serialize> Serialize for Repeat<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(repeat_n(&self.0, self.1))
    }
}
