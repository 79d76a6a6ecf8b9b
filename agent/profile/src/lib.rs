//! The Firefox Profiler's files after they were written: read, and written again with more in them.
//!
//! [`document`] keeps as text what is not changed. [`merge`] adds the events of a Flight Recorder
//! file, [`join`] makes one profile of several, and [`sources`] adds source text. None of the three
//! knows another.
#![forbid(unsafe_code)]

pub mod document;
pub mod join;
pub mod merge;
pub mod sources;
