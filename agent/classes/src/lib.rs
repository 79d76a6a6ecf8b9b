//! Finds class files in folders, in archives and archives within them, and in a JDK's image of
//! modules.
//!
//! A [`Library`] finds all copies of a class. A [`ClassFile`] has the parts of one that proof
//! needs. [`archive`] also reads archives without classes.
//!
//! It must never know a JVM, trust a file, or allocate by a number in a file. A damaged file counts
//! as missing.
#![forbid(unsafe_code)]

pub mod archive;
mod class;
mod container;
mod error;
mod image;
mod jdk;
mod library;
mod manifest;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(test)]
mod tests;

pub use class::{ClassFile, DeclaredMethod, Lambda};
pub use error::Error;
pub use library::{Copy, Library};
