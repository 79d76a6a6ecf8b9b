//! Plain types that all of Vouch shares: what a walker writes, a handler publishes, proof and the
//! witness judge.
//!
//! * [`Frame`] is a method and where in it a thread stands, whoever says so; [`Meant`] the same,
//!   once it is known which.
//! * [`Walk`] is what came of a walk: frames, or the [`Reason`] why not.
//! * [`Stack`] is frames of which some may be lacking, and where: a [`Cut`].
//! * [`Certainty`] is how the frames on top of a stack are known.
//! * [`Head`] is all of a sample but its walks.
//! * [`Event`] is something that happened meanwhile.
//!
//! It must never know a JVM, a lane or a file: whoever has a value of these needs nobody to
//! understand it.
//!
//! # Invariants
//!
//! **Invariant 4.** The crates that ARCHITECTURE.md marks with ● have no `unsafe` and know no JVM.
//! The crates that they are built with do not know the system either. The exception is `inferno`,
//! which draws and takes a seed from the system. Held by: `#![forbid(unsafe_code)]` and
//! `scripts/lib/arrows`; the tests of these crates run without a JVM.
#![no_std]
#![forbid(unsafe_code)]

mod certainty;
mod event;
mod frame;
mod head;
mod stack;
mod walk;

pub use certainty::Certainty;
pub use event::{Event, VALUES, values};
pub use frame::{Bci, ENTRY, Frame, Meaning, Meant, MethodId, NATIVE};
pub use head::Head;
pub use stack::{Cut, Stack};
pub use walk::{Answer, Reason, Walk, answer_of, number_of};
