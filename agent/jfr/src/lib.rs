//! A Flight Recorder file (`.jfr`), chunk by chunk, event by event, as its own metadata describes
//! it.
//!
//! It must never believe the file: each size, count, place and nesting is held to the bytes that
//! there are, so that a file that was cut or damaged gives what is whole of it and a sentence, and
//! no number in it is what memory is taken by. It knows no kind of event: only [`catalogue`] does,
//! which the rest does not use.
#![forbid(unsafe_code)]

mod bytes;
pub mod catalogue;
mod chunk;
mod decoder;
mod metadata;
mod table;
mod value;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use bytes::Damage;
pub use chunk::{Chunk, Event, Header, Reader, is_recording};
pub use metadata::{Field, Type, Unit};
pub use table::Table;
pub use value::Value;
