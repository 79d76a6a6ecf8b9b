//! Calls that a walk has met before: what a deep stack is made of, since nobody writes a thousand
//! methods that call each other.
//!
//! Whoever returns to the same address of compiled code has the same methods there, and a frame of
//! the same size. It must only be told what its code alone says, never what stood on the stack: an
//! address that code was given up under is none of these.

use core::cell::Cell;

use super::frames::Frames;

/// As many are remembered: more than a recursion goes through in one round, and little of a
/// thread's stack.
const CALLS: usize = 1 << CALLS_LOG2;
const CALLS_LOG2: u32 = 5;

/// A call that was met.
#[derive(Debug, Clone, Copy, Default)]
struct Call {
    /// Where it returns to; 0 if none is remembered.
    pc: usize,
    /// The size of the frame, in words.
    size: usize,
    /// Its methods' frames: from which one on, and how many.
    first: u32,
    count: u32,
}

/// Those of one walk.
#[derive(Debug, Default)]
pub struct Again {
    calls: [Cell<Call>; CALLS],
}

impl Again {
    /// Adds the frames of a call that was met before, if they are still there, and says of what
    /// size its own is.
    pub fn add(&self, pc: usize, frames: &mut Frames<'_>) -> Option<usize> {
        let call = self.place(pc)?.get();
        if call.pc != pc {
            return None;
        }
        frames.repeat(call.first, call.count)?;
        Some(call.size)
    }

    /// Remembers a call whose frames, from this one on, were added last.
    pub fn remember(&self, pc: usize, size: usize, first: u32, frames: &Frames<'_>) {
        if let Some(place) = self.place(pc) {
            place.set(Call { pc, size, first, count: frames.count().wrapping_sub(first) });
        }
    }

    /// Each address has one place, which it shares with others: who comes later has it.
    fn place(&self, pc: usize) -> Option<&Cell<Call>> {
        // Addresses that are near to each other go far apart, by the golden ratio.
        let mixed = (pc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - CALLS_LOG2);
        self.calls.get(usize::try_from(mixed).ok()?)
    }
}
