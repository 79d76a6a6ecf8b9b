//! Native code: the libraries of this process, stacks through them, and their symbols.
//!
//! * [`libraries`] reads which libraries are loaded, and what their files say for unwinding.
//! * [`unwinder`] walks native frames in a signal handler, by tables that were made before.
//! * [`symbols`] finds the name of the function at an address, in normal context.
//!
//! Only [`unwinder::NativeUnwinder::walk`](vouch_walk::native::NativeWalker::walk) runs in signal
//! context. It must not allocate or lock.

pub mod libraries;
pub mod symbols;
pub mod unwinder;
