//! Adds to profiles in the Firefox Profiler's format after they were written.
//!
//! [`document`] reads a profile and keeps unchanged parts as text. [`merge`] adds the events of a
//! Flight Recorder file, [`join`] makes one profile from several, and [`sources`] adds source text.
//! These three do not depend on each other.
#![forbid(unsafe_code)]

pub mod document;
mod error;
pub mod join;
pub mod merge;
pub mod sources;

pub use error::Error;
