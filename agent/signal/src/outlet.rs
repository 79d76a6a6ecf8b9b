//! A set of lanes, and the semaphore that wakes the thread that drains them when space gets short.

use crate::lane::{Claim, Lane, claim_any};

/// A set of lanes, and the semaphore that wakes their drain before its next regular round.
#[derive(Debug, Clone, Copy)]
pub struct Outlet {
    pub lanes: &'static [Lane<'static>],
    pub wake: *mut libc::sem_t,
}

// SAFETY: lanes may be used by all threads, and so may a semaphore.
unsafe impl Send for Outlet {}
// SAFETY: lanes may be used by all threads, and so may a semaphore.
unsafe impl Sync for Outlet {}

impl Outlet {
    /// Claims space in one of the lanes for an entry of up to `longest` words. `choice` selects the
    /// first lane to try.
    #[inline]
    pub fn claim(&self, choice: u32, longest: usize) -> Option<Claim<'static, 'static>> {
        let claim = claim_any(self.lanes, choice as usize, longest);
        if claim.as_ref().is_none_or(Claim::is_filling_up) {
            self.wake();
        }
        claim
    }

    /// Wakes the thread that drains the lanes.
    pub fn wake(&self) {
        // SAFETY: the semaphore is never destroyed. sem_post is async-signal-safe.
        unsafe { libc::sem_post(self.wake) };
    }
}
