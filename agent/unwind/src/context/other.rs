//! Functions for processors that Vouch does not support. Most do nothing or return zeros. A fault
//! cannot unwind a walk here, so the guard must not be installed.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{InterpreterRegisters, Registers};

/// The number of bits in an address, so large that every address is allowed.
pub const ADDRESS_BITS: u32 = usize::BITS - 1;
/// False: the guard cannot end a faulting walk on this processor.
pub const CAN_GUARD: bool = false;
/// False, so that no word of the stack is taken for a return address on this processor.
pub const CALL_PUSHES: bool = false;
/// The distance of glibc's dynamic thread vector from the thread pointer. It is unknown on this
/// processor, so it is 0.
pub const DTV_OFFSET: usize = 0;

/// Calls the function `call` without a guard, because the guard does not support this processor.
///
/// # Safety
/// `call` must accept the argument.
pub unsafe extern "C" fn guarded(
    _: &AtomicUsize,
    call: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: the caller promised that `call` accepts the argument.
    unsafe { call(argument) };
}

/// Does nothing, because no walk is guarded on this processor.
///
/// # Safety
/// The function has no effect.
pub unsafe fn unwind_to(_: *mut c_void, _: usize) {}

/// Returns true, so that every fault on this processor goes to the JVM.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn is_safe_fetch(_: *mut c_void, _: usize) -> bool {
    true
}

/// Returns 0, because the thread pointer is unknown on this processor.
pub fn thread_pointer() -> usize {
    0
}

/// Returns zeros, because this processor's registers are unknown.
pub fn current_registers() -> Registers {
    Registers::default()
}

/// Does nothing, because the layout of a context is unknown on this processor.
///
/// # Safety
/// The function has no effect.
pub unsafe fn repair(_: *mut c_void, _: Registers) {}

/// Returns `None`, because the link register is unknown on this processor.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn link_register(_: *mut c_void) -> Option<usize> {
    None
}

/// Returns zeros, because this processor's registers are unknown.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn registers(_: *mut c_void) -> Registers {
    Registers::default()
}

/// Returns zeros, because the interpreter's registers are unknown on this processor.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn interpreter_registers(_: *mut c_void) -> InterpreterRegisters {
    InterpreterRegisters::default()
}
