//! A way out: room in one of several lanes, and a word to the drain when there is little left of
//! it.

use crate::lane::{Claim, Lane, claim_any};

/// Lanes, and whom to wake when one of them gets full, so that the drain need not wait for its
/// time.
#[derive(Debug, Clone, Copy)]
pub struct Outlet {
    pub lanes: &'static [Lane<'static>],
    pub wake: *mut libc::sem_t,
}

// SAFETY: lanes are for all threads, and so is the semaphore.
unsafe impl Send for Outlet {}
// SAFETY: as above.
unsafe impl Sync for Outlet {}

impl Outlet {
    /// Room for an entry of up to so many words.
    #[inline]
    pub fn claim(&self, choice: u32, longest: usize) -> Option<Claim<'static, 'static>> {
        let claim = claim_any(self.lanes, choice as usize, longest);
        if claim.as_ref().is_none_or(Claim::presses) {
            self.wake();
        }
        claim
    }

    /// Has the drain look at once.
    pub fn wake(&self) {
        // SAFETY: the semaphore is never destroyed; sem_post is async-signal-safe.
        unsafe { libc::sem_post(self.wake) };
    }
}
