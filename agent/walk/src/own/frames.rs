//! The frames of a walk as they are found: never more than there is room for.

use core::marker::PhantomData;

use crate::walker::{Outset, RawFrame, Room};

/// Room that is being filled.
#[derive(Debug)]
pub struct Frames<'r> {
    room: Room,
    count: u32,
    outset: Outset,
    lent: PhantomData<&'r mut [RawFrame]>,
}

impl Frames<'_> {
    /// None yet.
    ///
    /// # Safety
    /// The room must be as large as it says, and nobody else's while this lives.
    pub unsafe fn of(room: Room) -> Self {
        Self { room, count: 0, outset: Outset::default(), lent: PhantomData }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn outset(&self) -> Outset {
        self.outset
    }

    /// The first whole frame has called from there: what is on top, if there is anything, is not.
    pub fn set_out(&mut self, pc: usize) {
        self.outset = Outset { pc: pc.wrapping_sub(1), before: self.count > 0 };
    }

    /// True if there is no room for another one.
    pub fn full(&self) -> bool {
        i64::from(self.count) >= i64::from(self.room.depth)
    }

    /// Adds a frame, if there is room.
    pub fn push(&mut self, frame: RawFrame) {
        if !self.full() {
            // SAFETY: less than `depth`, of which there is room, by the promise of `of`.
            unsafe { self.room.frames.add(self.count as usize).write(frame) };
            self.count = self.count.wrapping_add(1);
        }
    }

    /// Leaves so many frames.
    pub fn truncate(&mut self, count: u32) {
        self.count = self.count.min(count);
    }

    /// Those that have been added.
    pub fn added(&self) -> &[RawFrame] {
        // SAFETY: so many were written, and nobody else has the room, by the promise of `of`.
        unsafe { core::slice::from_raw_parts(self.room.frames, self.count as usize) }
    }

    /// Adds so many of them once more, from this one on.
    pub fn repeat(&mut self, first: u32, count: u32) {
        let end = first.wrapping_add(count);
        if end > self.count {
            return;
        }
        for index in first..end {
            // SAFETY: less than `count`: it was written.
            self.push(unsafe { self.room.frames.add(index as usize).read() });
        }
    }
}
