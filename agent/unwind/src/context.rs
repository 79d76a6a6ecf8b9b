//! The parts of an interrupted context that depend on the processor: its registers, and how a fault
//! unwinds a walk.
//!
//! Each architecture has a file here with the same functions. No other module of the agent may name
//! a register.

#[cfg_attr(target_arch = "x86_64", path = "context/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "context/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "context/other.rs")]
mod processor;
mod registers;

use core::ffi::c_void;

pub use processor::{
    ADDRESS_BITS, CALL_PUSHES, CAN_GUARD, DTV_OFFSET, current_registers, guarded, interpreter_registers,
    is_safe_fetch, link_register, registers, repair, thread_pointer, unwind_to,
};
pub use registers::{InterpreterRegisters, Registers};

/// True if the stack pointer of `context` is a little below `sp`, as in a function that was
/// called from there.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn is_below(context: *mut c_void, sp: usize) -> bool {
    // No thread uses a larger stack.
    const FAR: usize = 1 << 30;
    // SAFETY: the caller promised a ucontext.
    let here = unsafe { registers(context) }.sp;
    here < sp && sp.wrapping_sub(here) < FAR
}
