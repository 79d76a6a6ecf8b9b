//! A cache of the call sites that one walk has decoded. In a deep stack few call sites occur many
//! times.
//!
//! Frames with the same return address in an nmethod have the same methods and the same size. Only
//! facts that the code determines may be stored here, never words of the stack. The return address
//! of a deoptimised frame is the deopt handler, so it must not be stored.

use core::cell::Cell;

use super::frames::Frames;

/// The number of call sites that the cache holds. A round of a recursion rarely has more, and the
/// cache is on the thread's stack.
const CAPACITY: usize = 1 << CAPACITY_LOG2;
const CAPACITY_LOG2: u32 = 5;

/// A call site that the walk has decoded.
#[derive(Debug, Clone, Copy, Default)]
struct CallSite {
    /// The return address of the call site, or 0 if the slot is empty.
    pc: usize,
    /// The size of the call site's compiled frame, in words.
    size: usize,
    /// The index in [`Frames`] of the first frame of this call site.
    first: u32,
    /// The number of Java frames at this call site: its method and those inlined into it.
    count: u32,
}

/// The cache of call sites of one walk.
#[derive(Debug, Default)]
pub struct CallSiteCache {
    slots: [Cell<CallSite>; CAPACITY],
}

impl CallSiteCache {
    /// Adds the frames of a cached call site again, and returns the size of its compiled frame in
    /// words. The result is `None` if the call site is not cached, or its frames were overwritten.
    pub fn add(&self, pc: usize, frames: &mut Frames<'_>) -> Option<usize> {
        let site = self.slot(pc)?.get();
        if site.pc != pc {
            return None;
        }
        frames.repeat(site.first, site.count)?;
        Some(site.size)
    }

    /// Adds a call site to the cache. Its frames are the last ones of `frames`, beginning with
    /// `first`.
    pub fn remember(&self, pc: usize, size: usize, first: u32, frames: &Frames<'_>) {
        if let Some(slot) = self.slot(pc) {
            slot.set(CallSite { pc, size, first, count: frames.count().wrapping_sub(first) });
        }
    }

    /// Returns the cache slot of a return address. Several addresses share a slot, which keeps the
    /// latest.
    fn slot(&self, pc: usize) -> Option<&Cell<CallSite>> {
        // Multiplication by the golden ratio spreads addresses that are close together.
        let mixed = (pc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - CAPACITY_LOG2);
        self.slots.get(usize::try_from(mixed).ok()?)
    }
}
