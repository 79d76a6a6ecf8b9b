//! Native code: the libraries of this process, stacks through them, and their symbols.
//!
//! * [`libraries`] reads which libraries are loaded, and what their files say for unwinding.
//! * [`unwinder`] walks native frames in a signal handler, by tables that were made before.
//! * [`rule_table`] has what the handler reads most often: the registers of the caller.
//! * [`tables`] has all tables, with a step of a walk.
//! * [`symbols`] finds the name of the function at an address, in normal context, and
//!   [`kernel_symbols`] that of a function of the kernel.
//!
//! Only [`unwinder::NativeUnwinder::walk`](crate::native_walker::NativeWalker::walk) runs in signal
//! context. It must not allocate or lock. The rest runs in normal context, and has `std`.

mod cfi;
pub mod kernel_symbols;
pub mod libraries;
pub mod rule_table;
pub mod symbols;
pub mod tables;
pub mod unwinder;
