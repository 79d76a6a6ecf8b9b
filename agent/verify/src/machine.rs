//! Finds the inlined method that an instruction of compiled code belongs to.
//!
//! HotSpot describes ordinary instructions of compiled code by PcDescs. A PcDesc is at the end of a
//! run of instructions that share one JVM state: the inlined methods with their bcis. Many
//! instructions have no state: loop increments, spills, barriers, and those that the optimiser
//! moved or shared. By address alone they seem to belong to the next run, which may be another
//! inlined method. This module decides by the machine code instead:
//!
//! * An interrupt is taken after the slow instruction, so the instruction *before* the pc is
//!   charged ([`local`]).
//! * An instruction without a state belongs to its own basic block, and code out of line to the
//!   code that it returns to.
//! * An instruction in a loop belongs to the method that has the loop, which a safepoint in it
//!   names ([`Loops`]).
//!
//! [`certainty`] says how certain the found method is.
//!
//! This module reads an nmethod through the trait [`Nmethod`], and must never trust what it reads:
//! the code may be gone.

mod certainty;
mod flow;
mod guard;
mod instruction;
mod left_over;
mod local;
mod loops;
mod nmethod;
mod owner;
// The instructions in tests are those of x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod testing;

pub use certainty::certainty;
pub use left_over::{Described, LeftOver};
pub use local::owner;
pub use loops::Loops;
pub use nmethod::{DebugPoint, Inlined, Nmethod};
