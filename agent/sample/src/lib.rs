//! Plain types that all crates of Vouch share: frames, stacks, walks, samples and events.
//!
//! * [`Frame`] is a Java method with a location in its bytecode, or an address in native code. Its
//!   method is the `jmethodID` that a walker read. In a [`ResolvedFrame`] it is the method that
//!   this id had when it was sampled.
//! * [`Walk`] is the result of a stack walk: frames, or the [`Reason`] why there are no frames.
//! * [`Stack`] is a list of frames. A [`Cut`] says where frames are missing.
//! * [`Certainty`] says how well the top frames of a stack are known.
//! * [`Head`] is everything in a sample except its walks.
//! * [`Unsignalled`] is CPU time of a thread without a sample.
//! * [`Event`] is a JVM event or a marker of the program.
//!
//! These types must never depend on a JVM, a lane or a file: each value is complete in itself.
//!
//! # Invariants
//!
//! **Invariant 4.** The crates that ARCHITECTURE.md marks with ● have no `unsafe` and know no JVM.
//! Their dependencies do not use the system either. The exception is `inferno`, which draws flame
//! graphs and takes a random seed from the system. Held by: `#![forbid(unsafe_code)]` and
//! `scripts/lib/arrows`; the tests of these crates run without a JVM.
#![no_std]
#![forbid(unsafe_code)]

mod certainty;
mod event;
mod frame;
mod head;
mod stack;
mod unsignalled;
mod walk;

pub use certainty::Certainty;
pub use event::{Event, MAX_VALUES, MEASURED_INDEX, Measured, pad_values};
pub use frame::{Bci, ENTRY, Frame, FrameMethod, MethodId, NATIVE, ResolvedFrame, ResolvedMethod};
pub use head::Head;
pub use stack::{Call, Cut, Stack};
pub use unsignalled::Unsignalled;
pub use walk::{Answer, Reason, Walk, answer_from_number, answer_to_number};
