//! The real JVM, which answers the questions of the stages between lane and recording.
//!
//! [`live::Live`] implements their trait. Nothing here may run code of the program, or pass the JVM
//! a class that may be unloaded.

pub mod code;
pub mod live;
mod mounted;
mod relations;
mod stacks;
mod top;
mod top_frames;
