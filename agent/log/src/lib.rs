//! Writes and reads recordings on disk: `a.vouch`. A recording grows during the run, so it survives
//! a killed process. docs/recording-file.md describes the format for authors of other readers.
//!
//! [`Writer`] appends new data to a recording. [`read()`] rebuilds a
//! [`Recording`](vouch_recording::Recording) from the file, even if it is torn at any byte.
//! [`output`] writes all other files, and does not depend on recordings.
//!
//! This crate never depends on a JVM and never reads a clock. It never syncs the disk: a write ends
//! in the page cache. It never reports a sample as recorded that was not.
//!
//! # Invariants
//!
//! **Invariant 25.** What is recovered of a recording was recorded. A torn, damaged or forged file
//! loses only the blocks that are not whole. A whole file yields the profile that the run itself
//! wrote. Two runs never write one file, and a run that ended well leaves no recording. Held by:
//! `log/tests/torn` (a file is cut at each byte, damaged, forged); `java-tests/recording`.
#![forbid(unsafe_code)]

mod block;
mod error;
mod file;
mod ids;
pub mod output;
mod read;
mod replay;
mod state;
mod wire;
mod written_rows;

pub use block::is_recording;
pub use error::{Error, Obstacle};
pub use file::{ENDING, OtherRecordings, Writer, is_orphaned};
pub use read::{Found, Recovered, read};
pub use replay::Lost;
pub use state::State;
