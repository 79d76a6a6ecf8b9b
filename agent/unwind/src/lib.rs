//! Stack walkers with a common trait, and the guard that ends a walk that faults.
//!
//! All but [`native`] runs inside a signal handler, and the interrupted thread may be anywhere. So
//! nothing there allocates, locks or panics. Nothing calls a libc function that is not
//! async-signal-safe, and nothing touches a thread-local.
//!
//! * [`walker`] is the trait of all walkers. [`guard::walk`] calls a walker, in a signal handler
//!   and in tests.
//! * [`asgct`] calls AsyncGetCallTrace as the JVM declares it.
//! * [`hotspot`] is Vouch's own walker. It reads HotSpot's memory and calls no code of the JVM.
//! * [`code_cache`] finds the code blob at an address, and [`memory`] is how it is read.
//! * [`calls`] recognises call instructions.
//! * [`jvm_layout`] has offsets in a JavaThread, and where the JVM's code is.
//! * [`guard`] ends a walk that faults, and [`context`] has its part that depends on the processor.
//! * [`recover`] walks again from a repaired context, after a walk has failed.
//! * [`native_walker`] is the trait of the walker of native frames.
//! * [`native`] is that walker. Its tables and symbols are made in normal context, so that files
//!   there have `extern crate std`. `scripts/test signal` checks the calls of all other code: it
//!   builds the crate without the feature `native`.
//! * [`kernel`] has what is read from the kernel: ids, clocks, and memory that may be unmapped.
//!
//! The caller must pass the calling thread's JNIEnv, which must be valid, and a guard slot that no
//! other thread uses.
#![no_std]

pub mod asgct;
pub mod calls;
pub mod code_cache;
pub mod context;
pub mod guard;
pub mod hotspot;
pub mod jvm_layout;
pub mod kernel;
pub mod memory;
#[cfg(feature = "native")]
pub mod native;
pub mod native_walker;
pub mod recover;
pub mod walker;
