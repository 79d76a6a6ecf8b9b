//! The walkers, called in one way, and the guard that ends a walk that faults.
//!
//! All of it runs inside a signal handler, with the interrupted thread anywhere: nothing here
//! allocates, locks, can panic, calls a libc function that is not async-signal-safe, or touches a
//! thread-local.
//!
//! * [`walker`] is what every walker is, and how it is called: by [`guard::walk`], in a signal as
//!   in a test.
//! * [`asgct`] is AsyncGetCallTrace as the JVM declares it.
//! * [`hotspot`] is our own, which reads what HotSpot has in memory and calls nobody.
//! * [`broken`] is a walker for tests, which wraps another one and must be found out.
//! * [`code_cache`] is whose code lies at an address, by HotSpot's own code cache; [`memory`] is
//!   how that is read.
//! * [`calls`] is where calls end in code.
//! * [`jvm_layout`] is where a JVM has what of its threads, and which code.
//! * [`guard`] ends a walk that faults; [`context`] is what that needs to know of the processor.
//! * [`recover`] asks again from a repaired context, where a walk failed.
//! * [`kernel`] is what the kernel is asked for: ids, clocks, memory that may not be there.
//!
//! Duties of the caller: the thread's JNIEnv is its own and alive, and its place for the guard is
//! nobody else's.
#![no_std]

pub mod asgct;
pub mod broken;
pub mod calls;
pub mod code_cache;
pub mod context;
pub mod guard;
pub mod hotspot;
pub mod jvm_layout;
pub mod kernel;
pub mod memory;
pub mod recover;
pub mod walker;
