//! The data model of a recording: everything that is recorded in one run.
//!
//! A [`Recording`] is filled while the program runs. It has tables of names, functions, frames and
//! stacks, in which each row is stored once, and the samples of each thread. It can be read at any
//! time. Other crates write it to files.
//!
//! Callers must use ids only with the recording that made them, and add the parent of a stack
//! before the stack. Each signal must end in exactly one call of [`Recording::sample`] or
//! [`Recording::dropped`].
//!
//! This crate must never depend on a JVM or a file format, read a clock, or open a file.
#![forbid(unsafe_code)]

mod category;
mod contexts;
mod counters;
mod execution_mode;
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
mod trust;
mod virtual_threads;
mod wait_state;

pub use category::{
    Category, FRAMES_LEFT_OUT, VmPart, all_no_stack_reasons, no_stack, refuted_root, why_no_stack,
};
pub use contexts::{
    ContextField, ContextKind, ContextRow, Contexts, OTHERS, TRACE, UNKNOWN, UNNAMED, VIRTUAL_THREAD,
    WeightSum,
};
pub use counters::{Counter, Counters};
pub use execution_mode::ExecutionMode;
pub use family::family;
pub use fate::{ByFate, Fate, Tally};
pub use ids::{
    ContextId, ContextKindId, CounterId, FrameId, FuncId, Id, MarkerKindId, RefutationId, ResourceId,
    SourceId, StackId, StringId, ThreadId,
};
pub use index::Index;
pub use markers::{Marker, MarkerField, MarkerFieldRow, MarkerKind, MarkerKindRow, MarkerKinds, Unit};
pub use measures::{Amount, Amounts, MEASURES, Measure, MeasureUnit};
pub use outside::{OutsideJava, outside_java};
pub use recording::Recording;
pub use refutations::{Refutation, RefutationRow, RefutationTable};
pub use rows::{FrameRow, Func, FuncRow, Leaf, StackRow};
pub use sources::source_path;
pub use strings::StringTable;
pub use table::Table;
pub use thread::{Refuted, Sample, StoredSample, Thread};
pub use trust::Trust;
pub use virtual_threads::{SplitThreads, VIRTUAL_TID_BIT};
pub use vouch_sample::Certainty;
pub use wait_state::WaitState;
