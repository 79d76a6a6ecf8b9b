//! Recovery: a walk that failed is asked for again, from a repaired context.
//!
//! AsyncGetCallTrace finds no stack where the interrupted instruction lies in a stub, an intrinsic,
//! or where a method is just being entered or left: it does not know how such a frame is left.
//! Whoever calls it from the caller's place gets the caller's stack. A *strategy* is one way to
//! find that place; each proposes registers, one *candidate* after the other, from the surest
//! strategy to the least sure. What comes of it is a guess that proof has to judge.
//!
//! * [`ALL`] are the strategies.
//! * [`crate::jvm_layout`] is what they know of this JVM, and [`interrupted_thread::Scene`] of the
//!   thread.
//! * [`Recovery::attempts`] walks the candidates of one sample.
//!
//! A candidate's pc must be where a call returns to, in the interpreter or in a method that may be
//! running, or where the walker says that it goes on, and its sp in the thread's own stack, further
//! out than where it was interrupted. What is read for it is that stack, and the code cache; what
//! faults all the same ends by the guard.
//!
//! # Invariants
//!
//! **Invariant 20.** A repaired context is a guess. Nothing depends on it but a walk under the
//! guard. It has a pc in the JVM's code and an sp further out on the thread's own stack, no code
//! that may be gone, and proof decides. Held by: the tests of `walk/src/recover`, with registers
//! and stacks of any value; `agent/src/record/tests/recovered.rs`.

mod attempts;
mod interrupted_thread;
mod strategies;
mod strategy;

pub use attempts::{Attempts, MOST_CRASHES, Recovered, Recovery};
pub use strategies::{ALL, STRATEGIES};
pub use strategy::Strategy;
