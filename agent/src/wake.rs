//! How the agent's thread is woken: one semaphore for the process, never destroyed, which a handler
//! may post.
//!
//! It must not sleep for as long as somebody puts the machine's time of day back: where the system
//! can wait by the clock that goes on (glibc since 2.30) it does.

use std::time::Duration;

use once_cell::sync::Lazy;

use crate::clock;

struct Semaphore(*mut libc::sem_t);

// SAFETY: a semaphore is made to be used from every thread.
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

/// The semaphore, for a handler to post.
pub fn semaphore() -> *mut libc::sem_t {
    WAKE.0
}

/// Has the agent's thread look at what has changed.
pub fn wake() {
    // SAFETY: the semaphore lives for ever.
    unsafe { libc::sem_post(semaphore()) };
}

/// As `sem_timedwait`, by any clock.
type ClockWait =
    unsafe extern "C" fn(*mut libc::sem_t, libc::clockid_t, *const libc::timespec) -> libc::c_int;

static CLOCK_WAIT: Lazy<Option<ClockWait>> = Lazy::new(|| {
    // SAFETY: asks for a name; what has it is that function.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"sem_clockwait".as_ptr());
        (!found.is_null()).then(|| std::mem::transmute::<*mut libc::c_void, ClockWait>(found))
    }
});

/// Waits until somebody wakes the agent, or the time is over.
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
        // Several lanes may have called at once: they are all looked at now.
        while libc::sem_trywait(semaphore()) == 0 {}
    }
}
