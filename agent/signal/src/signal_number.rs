//! The number of the signal that samples threads: SIGPROF, unless the user chose another one.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

static NUMBER: AtomicI32 = AtomicI32::new(libc::SIGPROF);

/// The signal of the present recording, or of the next.
pub fn get() -> c_int {
    NUMBER.load(Relaxed)
}

/// Chooses the signal. Its handler must be installed.
pub fn set(number: c_int) {
    NUMBER.store(number, Relaxed);
}
