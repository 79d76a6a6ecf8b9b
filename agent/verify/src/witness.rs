//! How a walk differs from the witness of the same moment.
//!
//! A walk is AsyncGetCallTrace's account of a stack, the witness GetStackTrace's. This module
//! compares the two: wholly ([`compare`]) when the thread provably did not run between them, in all
//! frames but the topmost ([`outside`]) when it ran to its next safepoint poll, by their outermost
//! frames alone ([`root_side`]) when it may have gone anywhere. What may differ for a good reason
//! is put right by a named [`rules`] first. It must never know a JVM, nor explain a difference
//! away: it only says of what kind it is.

mod compare;
mod difference;
mod root;
pub mod rules;

pub use compare::{Comparison, Row, agrees_outside, compare, outside};
pub use difference::Difference;
pub use root::{RootSide, root_side};
