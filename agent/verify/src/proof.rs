//! Is this stack possible? Call edges against the bytecode that they claim to come from.
//!
//! A frame of a walk says: method A, at bci 17, called method B. A's bytecode says what it can call
//! at 17. [`edge`] compares the two and gives a [`Verdict`]; [`leaf`] and [`root`] do so for a
//! stack's two ends.
//!
//! What the caller owes: names as a class file has them, and the code and constants of one version
//! of a class.
//!
//! What this module never does: know a JVM, guess, or panic on damaged input. What it cannot read
//! it says so of, and does not refute.
//!
//! # Invariants
//!
//! **Invariant 11.** Proof refutes nothing that is true. It notices what is false. Held by:
//! `cargo xtask page true-stacks` (stacks by GetStackTrace of real programs; a bounded run in
//! `scripts/test`) for the first; the report's `power` and `java-tests/profile/Proof.java` (of a
//! walker that is broken at a known rate, that share is refuted) for the second.

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
pub use edge::{Reference, called, edge, leaf, through};
pub use listing::listing;
pub use method::{Body, Class, Gone, Known, Method, Relation};
pub use names::{hidden_part, without_hidden_part};
pub use opcode::{INVOKEINTERFACE, INVOKESTATIC, is_invoke};
pub use pool::{Constant, Dynamic, Member, Pool};
pub use power::{Corruption, Framed, Noticed, power};
pub use root::{Thread, root};
pub use verdict::{Explanation, Refutation, Verdict};
