//! The JVMTI façade: the only code that touches the JVMTI function table.
//!
//! It calls every function through a pointer that returns a plain integer. `jvmti-sys` declares an
//! enum there, and newer JVMs return values that are not in it. [`Allocated`] frees memory that the
//! JVM allocated, and [`abi`] asserts the layout of shared structs. The façade must not depend on
//! what its callers do with the results.
//!
//! # Invariants
//!
//! **Invariant 5.** Only the façade touches the JVMTI table, through pointers that return a plain
//! integer. A method id is a number and is never dereferenced, except by the kernel to find out
//! whether it is an id (`unwind/src/memory.rs`). Held by: `facade/abi.rs`, which is compared with
//! the `jvmti.h` of each JDK.

pub mod abi;
mod classes;
mod code;
mod compiled;
mod events;
mod jvmti;
mod memory;
mod stacks;
mod threads;

pub use code::Modifier;
pub use compiled::frame_counts;
pub use events::{Callbacks, Capability, Event, EventSubscription, RequiredFor};
pub use jvmti::{Jvmti, JvmtiError, Result};
pub use stacks::StackFrame;
