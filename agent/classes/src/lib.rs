//! Class files, wherever they lie: folders, archives and archives within them, a JDK's image of
//! modules.
//!
//! A [`Library`] finds all copies of a class that lie there, and a [`ClassFile`] is what proof
//! needs of one. [`archive`] is also for archives without classes.
//!
//! What this crate never does: know a JVM, or believe a file. What is damaged is not there, and no
//! number in a file is what memory is taken by.
#![forbid(unsafe_code)]

pub mod archive;
mod class;
mod container;
mod image;
mod jdk;
mod library;
mod manifest;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(test)]
mod tests;

pub use class::{ClassFile, DeclaredMethod, Lambda};
pub use library::{Copy, Library};
