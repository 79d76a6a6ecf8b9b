//! The JDK's own kinds of events (JFR's): what each of them is by the metadata of each JDK, and
//! what it tells, in our words.
//!
//! The facts (`kinds.json`) are made from recordings of real JDKs by `scripts/jfr-kinds`, the words
//! (`words.txt`) by hand. No fact may be written by hand, and no kind may be without words.

mod facts;
mod kinds;
#[cfg(test)]
mod tests;

pub use facts::{Facts, Recorded};
pub use kinds::{Catalogue, Field, Form, Kind, Shape, catalogue, versions};
