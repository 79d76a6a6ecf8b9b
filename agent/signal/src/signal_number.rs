//! The number of the signal that samples threads: SIGPROF, unless the user chose another one.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

static NUMBER: AtomicI32 = AtomicI32::new(libc::SIGPROF);

/// Returns the number of the signal that samples threads in the current recording, or in the next
/// one.
pub fn get() -> c_int {
    NUMBER.load(Relaxed)
}

/// Sets the number of the signal that samples threads. Its handler must be installed.
pub fn set(number: c_int) {
    NUMBER.store(number, Relaxed);
}
