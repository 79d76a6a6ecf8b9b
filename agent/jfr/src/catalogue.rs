//! The catalogue of the JDK's own event kinds. It has facts from each JDK's metadata, and a
//! description in our words.
//!
//! `cargo xtask page jfr-events` makes the facts (`kinds.json`) from recordings of real JDKs. The
//! words (`words.txt`) are written by hand. A fact must never be written by hand, and each kind
//! must have words.

mod facts;
mod kinds;
#[cfg(test)]
mod tests;

pub use facts::{Facts, Recorded};
pub use kinds::{Catalogue, EventParts, Field, JfrEventKind, Shape, catalogue, versions};
