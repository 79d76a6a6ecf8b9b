//! Any other processor: a fault cannot unwind a walk, so the guard must not be installed.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{InterpreterRegisters, Registers};

/// All addresses are allowed.
pub const ADDRESS_BITS: u32 = usize::BITS - 1;
/// The guard cannot unwind walks on this processor.
pub const CAN_GUARD: bool = false;
/// False, so that no word of the stack is taken for a return address.
pub const CALL_PUSHES: bool = false;
/// The distance is unknown.
pub const DTV_OFFSET: usize = 0;

/// Calls the function without a guard.
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

/// Does nothing: no walk is guarded.
///
/// # Safety
/// The function has no effect.
pub unsafe fn unwind_to(_: *mut c_void, _: usize) {}

/// Returns true: every fault belongs to the JVM.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn is_safe_fetch(_: *mut c_void, _: usize) -> bool {
    true
}

/// Does nothing: no guard would end the fault.
pub fn fault(_: u32, _: usize) {}

/// Returns 0: the thread pointer is unknown.
pub fn thread_pointer() -> usize {
    0
}

/// Returns zeros: the registers are unknown.
pub fn current_registers() -> Registers {
    Registers::default()
}

/// Does nothing: the layout of a context is unknown.
///
/// # Safety
/// The function has no effect.
pub unsafe fn repair(_: *mut c_void, _: Registers) {}

/// Returns `None`: the link register is unknown.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn link_register(_: *mut c_void) -> Option<usize> {
    None
}

/// Returns zeros: the registers are unknown.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn registers(_: *mut c_void) -> Registers {
    Registers::default()
}

/// Returns zeros: the interpreter's registers are unknown.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn interpreter_registers(_: *mut c_void) -> InterpreterRegisters {
    InterpreterRegisters::default()
}
