//! Proof: checks whether a stack is possible, by the bytecode of the methods in it.
//!
//! An edge of a stack states that method A, at bci 17, called method B. [`edge`] compares it with
//! what the bytecode of A can call at bci 17, and returns a [`Verdict`]. [`leaf`] and [`root`]
//! check the two ends of a stack.
//!
//! The caller of this module has to pass names as a class file has them, and the code and constants
//! of one version of a class.
//!
//! This module must never depend on a JVM, guess, or panic on damaged input. If it cannot read the
//! bytecode of an edge, it does not refute the edge, but explains it as unread.
//!
//! # Invariants
//!
//! **Invariant 11.** Proof refutes nothing that is true. It notices what is false. Held by:
//! `cargo xtask page true-stacks`, which judges GetStackTrace's stacks of real programs
//! (`scripts/test` has a bounded run), for the first part; the report's `power` and
//! `java-tests/profile/Proof.java`, where proof refutes the share of stacks that a walker breaks,
//! for the second part.

mod code;
mod edge;
mod explain;
mod handles;
mod listing;
mod method;
mod names;
mod opcode;
mod pool;
mod power;
mod root;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod upcalls;
mod verdict;

pub use code::{At, Code, Instruction};
pub use edge::{Reference, describe_call, edge, leaf, verdict_through_reference};
pub use listing::listing;
pub use method::{Body, Class, Gone, KnownFrame, Method, Relation};
pub use names::{hidden_part, without_hidden_part};
pub use opcode::{INVOKEINTERFACE, INVOKESTATIC, is_invoke};
pub use pool::{Constant, Dynamic, Member, Pool};
pub use power::{Corruption, FrameWithMethod, PowerCounts, power};
pub use root::{Thread, root};
pub use verdict::{Explanation, Refutation, Verdict};
