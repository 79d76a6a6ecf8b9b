//! Reads a Flight Recorder file (`.jfr`), chunk by chunk and event by event, as the file's own
//! metadata describes it.
//!
//! It must never trust the file. Each size, count, offset and nesting is checked against the bytes
//! that exist. From a truncated or damaged file it returns the intact part and an error, and no
//! number in the file decides how much memory is allocated. Only [`catalogue`] depends on
//! particular event kinds, and the rest does not use it.
#![forbid(unsafe_code)]

mod bytes;
pub mod catalogue;
mod chunk;
mod decoder;
mod error;
mod metadata;
mod table;
mod value;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use bytes::Damage;
pub use chunk::{Chunk, Event, Header, Reader, is_recording};
pub use error::Error;
pub use metadata::{Field, Type, Unit};
pub use table::Table;
pub use value::Value;
