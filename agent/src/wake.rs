//! Wakes the agent's thread by one semaphore for the process. It is never destroyed, and a handler
//! may post it.
//!
//! The thread must not oversleep when the machine's time of day is put back. It waits by the
//! monotonic clock where the C library can (glibc since 2.30).

use std::time::Duration;

use once_cell::sync::Lazy;
use vouch_sampling::clock;

struct Semaphore(*mut libc::sem_t);

// SAFETY: every thread may use a semaphore.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

static WAKE: Lazy<Semaphore> = Lazy::new(|| {
    // SAFETY: zeroed memory of the right size, which sem_init then fills.
    let semaphore = Box::into_raw(Box::new(unsafe { std::mem::zeroed::<libc::sem_t>() }));
    // SAFETY: the memory is valid and never moved; the count begins at 0, within this process.
    unsafe { libc::sem_init(semaphore, 0, 0) };
    Semaphore(semaphore)
});

/// Returns the semaphore, for a handler to post.
pub fn semaphore() -> *mut libc::sem_t {
    WAKE.0
}

/// Wakes the agent's thread, so that it checks for changes.
pub fn wake() {
    // SAFETY: the semaphore is never destroyed.
    unsafe { libc::sem_post(semaphore()) };
}

/// The type of `sem_clockwait`: as `sem_timedwait`, but by any clock.
type ClockWait =
    unsafe extern "C" fn(*mut libc::sem_t, libc::clockid_t, *const libc::timespec) -> libc::c_int;

static CLOCK_WAIT: Lazy<Option<ClockWait>> = Lazy::new(|| {
    // SAFETY: looks up a name. A symbol with this name has this type.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"sem_clockwait".as_ptr());
        (!found.is_null()).then(|| std::mem::transmute::<*mut libc::c_void, ClockWait>(found))
    }
});

/// Waits until the agent is woken, or the time is over.
pub fn wait(time: Duration) {
    // SAFETY: as above.
    unsafe {
        if let Some(wait) = *CLOCK_WAIT {
            let until = clock::after(clock::monotonic(), time);
            wait(semaphore(), libc::CLOCK_MONOTONIC, &raw const until);
        } else {
            let until = clock::from_now(time);
            libc::sem_timedwait(semaphore(), &raw const until);
        }
        // Several lanes may have posted at once. The thread now looks at all of them.
        while libc::sem_trywait(semaphore()) == 0 {}
    }
}
