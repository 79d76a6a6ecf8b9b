//! Recovery: after a failed walk, another walk begins from a repaired context.
//!
//! AsyncGetCallTrace finds no stack if the thread was interrupted in a stub or an intrinsic, or
//! while a method is entered or left: it cannot unwind such a frame. A walk from the caller's
//! registers gives the caller's stack. A *strategy* is one way to find these registers. It proposes
//! one *candidate* after the other. The surest strategy comes first. The result is a guess that
//! proof has to judge.
//!
//! * [`ALL`] lists the strategies.
//! * [`crate::jvm_layout`] describes the JVM for them, and
//!   [`interrupted_thread::InterruptedThread`] the thread.
//! * [`Recovery::attempts`] walks the candidates of one sample.
//!
//! A candidate's pc must be a return address in the interpreter, in a method that may be running,
//! or in the return barrier. Its stack pointer must be on the thread's own stack, further out than
//! the interrupted one. Recovery reads only that stack and the code cache for a candidate, and the
//! guard ends any fault.
//!
//! # Invariants
//!
//! **Invariant 20.** A repaired context is a guess, and only a walk under the guard uses it. Its pc
//! is in the JVM's code, and not in code that may be gone. Its sp is further out on the thread's
//! own stack. Proof decides about the result. Held by: the tests of `unwind/src/recover`, with
//! registers and stacks of any value; `agent/collect/src/record/tests/recovered.rs`.

mod attempts;
mod interrupted_thread;
mod strategies;
mod strategy;

pub use attempts::{Attempts, MAX_CRASHES, Recovered, Recovery};
pub use strategies::{ALL, STRATEGIES};
pub use strategy::Strategy;
