//! Compares a walk with its witness: the stack that GetStackTrace found for the same thread.
//!
//! How much is compared depends on how far the thread has run between the walk and GetStackTrace:
//!
//! * [`compare`] compares all frames, if the thread provably did not run.
//! * [`compare_outside_top`] compares all frames except the topmost compiled one, if the thread ran
//!   to its next safepoint poll.
//! * [`root_side`] compares the outermost frames, if the thread may have run anything.
//!
//! Frames that may rightly differ are first made equal by the [`rules`]. This module must never
//! depend on a JVM, nor explain a difference away: it only finds the kind of a difference.

mod compare;
mod difference;
mod root;
pub mod rules;

pub use compare::{Comparison, Row, agrees_outside_top, compare, compare_outside_top};
pub use difference::Difference;
pub use root::{RootSide, root_side};
