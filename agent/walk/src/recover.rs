//! Recovery: a walk that failed is asked for again, from a repaired context.
//!
//! AsyncGetCallTrace finds no stack where the interrupted instruction lies in a stub, an intrinsic,
//! or where a method is just being entered or left: it does not know how such a frame is left.
//! Whoever calls it from the caller's place gets the caller's stack. A *strategy* is one way to
//! find that place; each proposes registers, one *candidate* after the other, from the surest
//! strategy to the least sure. What comes of it is a guess that proof has to judge.
//!
//! * [`ALL`] are the strategies.
//! * [`Ground`] is what they know of this JVM, and [`scene::Scene`] of the thread.
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
mod scene;
mod strategies;

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64};

use crate::blobs::Blobs;
use crate::context::Registers;
use scene::Scene;

pub use attempts::{Attempts, Recovered};

/// How many strategies there are.
pub const STRATEGIES: usize = 4;

/// The strategies, in the order in which they are tried.
pub static ALL: [Strategy; STRATEGIES] = strategies::ALL;

/// After so many candidates whose walk faulted nothing is recovered any more: each was left halfway
/// through the JVM's own code.
pub const MOST_CRASHES: u64 = 100;

/// One way to repair a context.
#[derive(Debug)]
pub struct Strategy {
    pub name: &'static str,
    /// Its candidates are the interrupted thread's own topmost Java frame, and no caller's.
    pub keeps_leaf: bool,
    /// Between the interrupted frame and the caller that it proposes no other can lie.
    pub sure: bool,
    /// Its candidate of that number.
    propose: fn(&Scene<'_>, usize) -> Step,
}

/// What a strategy proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Try(Registers),
    /// Nothing under this number.
    Skip,
    /// It has nothing more.
    End,
}

/// Where things lie in this JVM: offsets in a JavaThread, and code.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Of its JNIEnv.
    pub env: usize,
    /// Of the end of its stack that the thread began at, and of the stack's size.
    pub stack_base: usize,
    pub stack_size: usize,
    /// Of the registers that it left Java with.
    pub last_sp: usize,
    pub last_pc: usize,
    pub last_fp: usize,
    /// Whose code lies where, and where the interpreter's.
    pub blobs: Blobs,
    pub interpreter: Range<usize>,
}

/// What recovery is to do, and has done.
#[derive(Debug)]
pub struct Recovery {
    pub ground: Ground,
    /// By the number of each strategy: whether it is to be tried.
    pub chosen: [bool; STRATEGIES],
    /// How many candidates of each were walked.
    pub tried: [AtomicU64; STRATEGIES],
    /// How many of all faulted in the JVM's code.
    pub crashed: AtomicU64,
    /// Set by the agent: nothing is to be tried any more.
    pub stopped: AtomicBool,
}
