//! Any other processor: walks are walked, but none can be left, so the guard must not be installed.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use crate::walker::{AsyncGetCallTrace, CallTrace};

/// A walk cannot be left here.
pub const GUARDS: bool = false;

/// Calls the walker.
///
/// # Safety
/// As for the walker.
pub unsafe extern "C" fn guarded(
    _: &AtomicUsize,
    walker: AsyncGetCallTrace,
    trace: *mut CallTrace,
    depth: i32,
    context: *mut c_void,
) -> i32 {
    // SAFETY: by the caller's promise.
    unsafe { walker(trace, depth, context) };
    0
}

/// Nothing is left.
///
/// # Safety
/// It does nothing.
pub unsafe fn leave(_: *mut c_void, _: usize) {}

/// No fault is a walk's.
///
/// # Safety
/// It does nothing.
pub unsafe fn is_below(_: *mut c_void, _: usize) -> bool {
    false
}

/// Every fault is the JVM's.
///
/// # Safety
/// It does nothing.
pub unsafe fn is_safe_fetch(_: *mut c_void, _: usize) -> bool {
    true
}

/// No fault on purpose where nothing would end it.
pub fn fault(_: u32, _: usize) {}

/// No damage either.
///
/// # Safety
/// It does nothing.
pub unsafe fn damage(_: *mut c_void, _: u64) {}
