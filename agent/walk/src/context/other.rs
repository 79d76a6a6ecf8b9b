//! Any other processor: walks are walked, but none can be left, so the guard must not be installed.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{Interpreting, Registers};

/// Any.
pub const ADDRESS_BITS: u32 = usize::BITS - 1;
/// A walk cannot be left here.
pub const GUARDS: bool = false;
/// So that nothing is taken for where it returns to.
pub const CALL_PUSHES: bool = false;
/// Nobody knows.
pub const MODULES: usize = 0;

/// Calls the function.
///
/// # Safety
/// `call` must take the argument.
pub unsafe extern "C" fn guarded(
    _: &AtomicUsize,
    call: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: by the caller's promise.
    unsafe { call(argument) };
}

/// Nothing is left.
///
/// # Safety
/// It does nothing.
pub unsafe fn leave(_: *mut c_void, _: usize) {}

/// Every fault is the JVM's.
///
/// # Safety
/// It does nothing.
pub unsafe fn is_safe_fetch(_: *mut c_void, _: usize) -> bool {
    true
}

/// No fault on purpose where nothing would end it.
pub fn fault(_: u32, _: usize) {}

/// Nobody knows.
pub fn thread_pointer() -> usize {
    0
}

/// Nobody knows.
pub fn here() -> Registers {
    Registers::default()
}

/// Nothing is repaired.
///
/// # Safety
/// It does nothing.
pub unsafe fn repair(_: *mut c_void, _: Registers) {}

/// Nobody knows.
///
/// # Safety
/// It does nothing.
pub unsafe fn link(_: *mut c_void) -> Option<usize> {
    None
}

/// Nor this.
///
/// # Safety
/// It does nothing.
pub unsafe fn registers(_: *mut c_void) -> Registers {
    Registers::default()
}

/// Nor this.
///
/// # Safety
/// It does nothing.
pub unsafe fn interpreting(_: *mut c_void) -> Interpreting {
    Interpreting::default()
}
