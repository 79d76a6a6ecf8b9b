//! Samples in; Firefox Profiler JSON, folded stacks and the trust report out.
//!
//! A [`Recording`] is filled while the program runs: tables of names, frames and stacks in which nothing is
//! stored twice, and the samples of each thread. From it come [`write_firefox`], [`write_folded`] and the
//! [`TrustReport`].
//!
//! What the caller owes: ids come from the recording they are used with, a stack's parent exists before the
//! stack, and every signal ends in exactly one call of [`Recording::sample`] or [`Recording::dropped`].
//!
//! What this crate never does: know a JVM, read a clock, open a file, or hold a written document in memory.
//! It gets numbers and names, and a `Write`.
#![forbid(unsafe_code)]

mod category;
mod fate;
mod firefox;
mod folded;
mod frames;
mod funcs;
mod ids;
mod intern;
mod json;
mod markers;
mod meta;
mod proof;
mod recording;
mod refutations;
mod report;
mod resources;
mod samples;
mod sources;
mod stacks;
mod strings;
mod summary;
mod text;
mod thread;
mod time;
mod tracks;

pub use category::{Category, VmPart};
pub use fate::{ByFate, Fate, Tally};
pub use firefox::write_firefox;
pub use folded::write_folded;
pub use funcs::Func;
pub use ids::{FrameId, FuncId, RefutationId, ResourceId, SourceId, StackId, ThreadId};
pub use meta::Meta;
pub use proof::{Conservation, EdgeReport, LISTED, Power, RefutationReport};
pub use recording::Recording;
pub use refutations::Refutation;
pub use report::{Delivered, HandlerTime, Rate, Signals, ThreadReport, TrustReport, WitnessReport};
pub use text::readable;
pub use thread::Sample;
