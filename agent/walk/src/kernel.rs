//! What the kernel keeps of each thread: its id, and errno, which a handler leaves as it found it.

/// The calling thread's id.
#[inline]
#[must_use]
pub fn own_tid() -> u32 {
    // SAFETY: a bare system call without arguments, which cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Puts errno back when the handler ends.
#[derive(Debug)]
pub struct Errno(i32);

impl Errno {
    /// As it is now.
    #[must_use]
    pub fn save() -> Self {
        // SAFETY: errno is the thread's own; the address is valid as long as the thread.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as in `save`.
        unsafe { *libc::__errno_location() = self.0 };
    }
}
