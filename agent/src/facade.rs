//! The JVMTI façade: the only code that touches the JVMTI function table.
//!
//! It calls every function through a pointer that returns a plain integer, because `jvmti-sys`
//! declares an enum that newer JVMs answer outside of. What the JVM allocates is given back by
//! [`Allocated`]; what it shares by layout is asserted in [`abi`]. It must not know what its
//! callers want with the answers.
//!
//! # Invariants
//!
//! **Invariant 5.** Only the façade touches the JVMTI table, through pointers that return a plain
//! integer. A method id is a number and is never dereferenced, except by the kernel to find out
//! whether it is an id (`walk/src/memory.rs`). Held by: `facade/abi.rs`, which is compared with
//! each JDK's own `jvmti.h`.

pub mod abi;
mod classes;
mod code;
mod compiled;
mod events;
mod jvmti;
mod memory;
mod stacks;
mod threads;

pub use classes::{LineEntry, MethodName};
pub use code::Modifier;
pub use compiled::inlined;
pub use events::{Callbacks, Capability, Event, Need, Told};
pub use jvmti::{Jvmti, Result};
pub use stacks::StackFrame;
