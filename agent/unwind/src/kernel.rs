//! System calls for signal handlers and other code: a thread's id, clocks, and memory that may be
//! unmapped. This module also keeps errno unchanged in a handler.

use core::ffi::c_void;

/// Returns the calling thread's id.
#[inline]
#[must_use]
pub fn own_tid() -> u32 {
    // Older C libraries have no gettid function. SAFETY: this is a raw system call without
    // arguments, and it cannot fail. A thread id has 32 bits.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(tid).unwrap_or_default()
}

/// Reads a clock, in nanoseconds.
#[inline]
#[must_use]
pub fn clock(which: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, and clock_gettime is async-signal-safe.
    unsafe { libc::clock_gettime(which, &raw mut now) };
    let seconds = now.tv_sec.cast_unsigned();
    seconds.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec.cast_unsigned())
}

/// Reads the CPU clock of the calling thread, in nanoseconds.
#[inline]
#[must_use]
pub fn own_cpu() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Reads words of this process's memory at any address. The result is `None` if a word is unmapped.
#[must_use]
pub fn peek<const WORDS: usize>(address: usize) -> Option<[usize; WORDS]> {
    let mut words = [0_usize; WORDS];
    let length = size_of_val(&words);
    // SAFETY: the words are writable, of this length, and may have any content.
    let read = unsafe { read_memory(address, words.as_mut_ptr().cast(), length) };
    (read == length).then_some(words)
}

/// Copies this process's memory at any address. Returns how many bytes were copied, which are fewer
/// than asked for if the rest is unmapped.
#[must_use]
pub fn peek_bytes(address: usize, bytes: &mut [u8]) -> usize {
    // SAFETY: the bytes are writable, of this length, and may have any content.
    unsafe { read_memory(address, bytes.as_mut_ptr(), bytes.len()) }
}

/// Copies `length` bytes of this process's memory through the kernel. Returns how many were copied.
///
/// # Safety
/// `length` bytes must be writable at `to`, and may have any content.
unsafe fn read_memory(address: usize, to: *mut u8, length: usize) -> usize {
    let ours = libc::iovec { iov_base: to.cast(), iov_len: length };
    let theirs = libc::iovec { iov_base: address as *mut c_void, iov_len: length };
    // SAFETY: these are raw system calls. The kernel checks the address, and it writes `length`
    // bytes at most, which the caller has promised are writable.
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
    usize::try_from(read).unwrap_or(0)
}

/// Restores the saved errno when it is dropped, so that a handler does not change the thread's
/// errno.
#[derive(Debug)]
pub struct Errno(i32);

impl Errno {
    /// Saves the thread's present errno.
    #[must_use]
    pub fn save() -> Self {
        // SAFETY: errno belongs to this thread, and its address is valid as long as the thread
        // runs.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: errno belongs to this thread, and its address is valid as long as the thread
        // runs.
        unsafe { *libc::__errno_location() = self.0 };
    }
}
