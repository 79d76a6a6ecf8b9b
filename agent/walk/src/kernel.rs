//! What the kernel does for a handler and whoever else asks: a thread's id, errno left as it was
//! found, clocks, and reading memory that may not be there.

use core::ffi::c_void;

/// The calling thread's id.
#[inline]
#[must_use]
pub fn own_tid() -> u32 {
    // By its number: older C libraries have no function of that name. The kernel's numbers of
    // threads are of 32 bits. SAFETY: a bare system call without arguments, which cannot fail.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(tid).unwrap_or_default()
}

/// A clock's time in nanoseconds.
#[inline]
#[must_use]
pub fn clock(which: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; clock_gettime is async-signal-safe.
    unsafe { libc::clock_gettime(which, &raw mut now) };
    let seconds = now.tv_sec.cast_unsigned();
    seconds.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec.cast_unsigned())
}

/// The words of this process's memory at an address; `None` where there are none.
#[must_use]
pub fn peek<const WORDS: usize>(address: usize) -> Option<[usize; WORDS]> {
    let mut words = [0_usize; WORDS];
    let length = size_of_val(&words);
    let ours = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: length };
    let theirs = libc::iovec { iov_base: address as *mut c_void, iov_len: length };
    // SAFETY: bare system calls; the kernel checks the address, and writes no more than `words` has
    // room for.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            libc::syscall(libc::SYS_getpid),
            &raw const ours,
            1_usize,
            &raw const theirs,
            1_usize,
            0_usize,
        )
    };
    (usize::try_from(read) == Ok(length)).then_some(words)
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
