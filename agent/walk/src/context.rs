//! What of an interrupted context depends on the processor: its registers, and how a walk is left
//! from a fault.
//!
//! A file for each architecture, all with the same functions, and here what is made of them.
//! Nothing else of the agent may know a register.

#[cfg_attr(target_arch = "x86_64", path = "context/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "context/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "context/other.rs")]
mod processor;
mod registers;

use core::ffi::c_void;

pub use processor::{
    ADDRESS_BITS, CALL_PUSHES, GUARDS, MODULES, fault, guarded, here, interpreting, is_safe_fetch, leave,
    link, registers, repair, thread_pointer,
};
pub use registers::{Interpreting, Registers};

/// True if the stack pointer is below `sp`, as in a function that was called from there, and not
/// far.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn is_below(context: *mut c_void, sp: usize) -> bool {
    // More than any thread's stack of use.
    const FAR: usize = 1 << 30;
    // SAFETY: by the caller's promise.
    let here = unsafe { registers(context) }.sp;
    here < sp && sp.wrapping_sub(here) < FAR
}

/// Damages a context as no thread ever has it: stack and frame pointer point somewhere else, into
/// the stack or anywhere.
///
/// # Safety
/// `context` must be a ucontext, and nobody's to return to.
pub unsafe fn damage(context: *mut c_void, random: u64) {
    let near = |value: &mut usize, shift: u32| {
        let by = usize::try_from(random >> shift & 0xfff8).unwrap_or(0);
        // Three of four stay in the neighbourhood, where the walker believes what it reads.
        *value = if (random >> 62) == 3 {
            *value ^ (by << 24)
        } else {
            value.wrapping_add(by).wrapping_sub(0x1000)
        };
    };
    // SAFETY: by the caller's promise.
    let mut at = unsafe { registers(context) };
    if random & 1 == 0 {
        near(&mut at.sp, 8);
    }
    if random & 4 == 0 {
        near(&mut at.pc, 20);
    }
    if random & 3 != 2 {
        near(&mut at.fp, 32);
    }
    // SAFETY: as above.
    unsafe { repair(context, at) };
}
