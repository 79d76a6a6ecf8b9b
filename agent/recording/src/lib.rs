//! All that is recorded of one run.
//!
//! A [`Recording`] is filled while the program runs: tables of names, functions, frames and stacks
//! in which nothing is stored twice, and the samples of each thread. It can be read at any time:
//! what is written of it, and how, is not its business.
//!
//! What the caller owes: ids come from the recording they are used with, a stack's parent exists
//! before the stack, and every signal ends in exactly one call of [`Recording::sample`] or
//! [`Recording::dropped`].
//!
//! What this crate never does: know a JVM or a file format, read a clock, open a file.
#![forbid(unsafe_code)]

mod category;
mod contexts;
mod counters;
mod family;
mod fate;
pub mod ids;
mod index;
pub mod kinds;
mod markers;
pub mod measures;
mod outside;
mod placeholders;
mod recording;
mod refutations;
mod rows;
mod sources;
mod strings;
mod table;
mod thread;
mod virtual_threads;

pub use category::{Category, LEFT_OUT, VmPart, no_stack, own_reasons, refuted_root, why_no_stack};
pub use contexts::{
    ContextField, ContextKind, ContextRow, Contexts, OTHERS, TRACE, UNKNOWN, UNNAMED, VIRTUAL_THREAD, Weighed,
};
pub use counters::{Counter, Counters};
pub use family::family;
pub use fate::{ByFate, Fate, Tally};
pub use ids::{
    ContextId, ContextKindId, CounterId, FrameId, FuncId, Id, MarkKindId, RefutationId, ResourceId, SourceId,
    StackId, StringId, ThreadId,
};
pub use index::Index;
pub use markers::{Figure, FigureRow, Mark, MarkKind, MarkKindRow, MarkKinds, Unit};
pub use measures::{Amount, Amounts, MEASURES, Measure, MeasureUnit};
pub use outside::{Outside, outside};
pub use recording::Recording;
pub use refutations::{Refutation, RefutationRow, RefutationTable};
pub use rows::{FrameRow, Func, FuncRow, Leaf, StackRow};
pub use sources::source_path;
pub use strings::StringTable;
pub use table::Table;
pub use thread::{Refuted, Sample, Stored, Thread};
pub use virtual_threads::{Apart, VIRTUAL};
pub use vouch_sample::Certainty;
