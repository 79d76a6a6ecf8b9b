//! The malloc trap: an LD_PRELOAD library for a test that counts allocations made while a SIGPROF
//! handler runs.
//!
//! It replaces the C library's allocator and `sigaction`. Any handler that the agent installs then
//! runs inside a trap, in a real JVM and with the agent's real binary. At exit it writes
//! `handlers=N allocations=M` to the file that VOUCH_MALLOC_TRAP names.
//!
//! With VOUCH_MALLOC_TRAP_CONTROL set, the trap itself calls the allocator once in each handler. A
//! test that then counts no allocation does not work. The call is `free(NULL)`, which takes no
//! lock; a real allocation there sometimes hangs the JVM.
//!
//! It must do nothing else, and must not be used outside of tests.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::mem::transmute;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

static HANDLERS: AtomicU64 = AtomicU64::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static CONTROL: AtomicBool = AtomicBool::new(false);
/// The handler that the program asked for, as an address.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // A preloaded library's thread-locals lie in the thread's first block: the first touch
    // allocates nothing.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}

fn note() {
    if INSIDE.get() {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    note();
    // SAFETY: passed on.
    unsafe { __libc_malloc(size) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    note();
    // SAFETY: passed on.
    unsafe { __libc_calloc(count, size) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    note();
    // SAFETY: passed on.
    unsafe { __libc_realloc(old, size) }
}

/// # Safety
/// As the C library's. Giving memory back takes the allocator's locks too, so it counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(old: *mut c_void) {
    note();
    // SAFETY: passed on.
    unsafe { __libc_free(old) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    note();
    // SAFETY: passed on.
    unsafe { __libc_memalign(alignment, size) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    note();
    // SAFETY: passed on.
    unsafe { __libc_memalign(alignment, size) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    note();
    // SAFETY: passed on; the caller passed an address for one pointer.
    unsafe {
        let memory = __libc_memalign(alignment, size);
        place.write(memory);
        if memory.is_null() { libc::ENOMEM } else { 0 }
    }
}

/// Installs a handler for SIGPROF so that it runs inside the trap. All other calls are passed on to
/// the C library.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's own pointers, null or valid.
    unsafe {
        let sets_handler = signal == libc::SIGPROF
            && !new.is_null()
            && (*new).sa_sigaction != libc::SIG_DFL
            && (*new).sa_sigaction != libc::SIG_IGN;
        if !sets_handler {
            return __sigaction(signal, new, old);
        }
        let mut trapped = *new;
        if HANDLER.swap(trapped.sa_sigaction, Relaxed) == 0 {
            CONTROL.store(std::env::var_os("VOUCH_MALLOC_TRAP_CONTROL").is_some(), Relaxed);
            libc::atexit(report);
        }
        trapped.sa_sigaction = trap as *const () as usize;
        __sigaction(signal, &raw const trapped, old)
    }
}

unsafe extern "C" fn trap(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    INSIDE.set(true);
    HANDLERS.fetch_add(1, Relaxed);
    // SAFETY: what the program gave to `sigaction`, called with the kernel's arguments; freeing
    // null does nothing.
    unsafe {
        if CONTROL.load(Relaxed) {
            libc::free(std::ptr::null_mut());
        }
        transmute::<usize, Handler>(HANDLER.load(Relaxed))(signal, info, context);
    }
    INSIDE.set(false);
}

extern "C" fn report() {
    let Some(path) = std::env::var_os("VOUCH_MALLOC_TRAP") else { return };
    if let Ok(mut file) = std::fs::File::create(path) {
        let (handlers, allocations) = (HANDLERS.load(Relaxed), ALLOCATIONS.load(Relaxed));
        // An error is ignored here, because the test that reads the file then fails.
        let _ = writeln!(file, "handlers={handlers} allocations={allocations}");
    }
}
