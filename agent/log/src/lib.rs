//! A recording on disk, written as the run goes on, so that it outlives its process: `a.vouch`.
//! docs/recording-file.md describes it for whoever writes a reader of his own.
//!
//! [`Writer`] appends what has come since; [`read()`] makes a
//! [`Recording`](vouch_recording::Recording) of it again, torn at any byte. [`output`] writes all
//! other files, and knows no recording.
//!
//! What this crate never does: know a JVM or read a clock; have the disk written (a write ends in
//! the page cache); take a sample for recorded that was not.
//!
//! # Invariants
//!
//! **Invariant 25.** What is recovered of a recording was recorded. A torn, damaged or forged file
//! loses what is not whole, and no more. A whole file gives the profile that the run itself wrote.
//! No two runs write one file, and a run that ended well leaves none. Held by: `log/tests/torn` (a
//! file is cut at each byte, damaged, forged); `java-tests/recording`.
#![forbid(unsafe_code)]

mod block;
mod file;
mod ids;
mod news;
pub mod output;
mod read;
mod replay;
mod state;
mod wire;

pub use block::is_recording;
pub use file::{Beside, ENDING, Writer, is_left};
pub use read::{Found, Recovered, read};
pub use replay::Lost;
pub use state::State;
