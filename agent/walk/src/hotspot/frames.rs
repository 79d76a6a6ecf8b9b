//! The frames of a walk as they are found: never more than there is room for.
//!
//! Half of the room is for the innermost ones. What comes after goes round in the other half, so
//! that of a deeper stack the outermost are there at the end, and those between are counted. A walk
//! must have an end, too: of so many frames that it comes to none, the innermost alone are told.

use core::marker::PhantomData;

use vouch_sample::Cut;

use crate::walker::{Outset, RawFrame, Room, Told};

/// No walk goes on behind so many frames, for which it has taken some 10 to 30 ms.
const MOST: u32 = 1 << 20;

/// Room that is being filled.
#[derive(Debug)]
pub struct Frames<'r> {
    room: Room,
    /// How many have been added, be they there or not.
    count: u32,
    /// Those from this one on are in the second half, as far as they are there.
    half: u32,
    /// The first of these that is still there.
    oldest: u32,
    outset: Outset,
    lent: PhantomData<&'r mut [RawFrame]>,
}

impl Frames<'_> {
    /// None yet.
    ///
    /// # Safety
    /// The room must be as large as it says, and nobody else's while this lives.
    pub unsafe fn of(room: Room) -> Self {
        let half = room.depth.max(1).cast_unsigned().div_ceil(2);
        Self { room, count: 0, half, oldest: half, outset: Outset::default(), lent: PhantomData }
    }

    /// How many have been added.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The first whole frame has called from there: what is on top, if there is anything, is not.
    pub fn set_out(&mut self, pc: usize) {
        self.outset = Outset { pc: pc.wrapping_sub(1), before: self.count > 0 };
    }

    /// True if it is time to end.
    pub fn full(&self) -> bool {
        self.count >= MOST
    }

    /// The length of the room's second half.
    fn second(&self) -> u32 {
        self.room.depth.max(0).cast_unsigned().saturating_sub(self.half)
    }

    /// Where in the room this one lies, if it was added and is still there.
    fn place(&self, index: u32) -> Option<u32> {
        let round = || {
            index
                .wrapping_sub(self.half)
                .checked_rem(self.second())
                .map(|place| place.wrapping_add(self.half))
        };
        match () {
            () if index >= self.count => None,
            () if index < self.half => Some(index),
            () if index >= self.oldest => round(),
            () => None,
        }
    }

    /// Adds a frame.
    pub fn push(&mut self, frame: RawFrame) {
        let index = self.count;
        if index >= MOST || self.room.depth <= 0 {
            return;
        }
        self.count = index.wrapping_add(1);
        if index >= self.half {
            self.oldest = self.oldest.max(self.count.saturating_sub(self.second()));
        }
        if let Some(place) = self.place(index) {
            // SAFETY: a place is less than the room's length, by `place`; the room is that long, by
            // the promise of `of`.
            unsafe { self.room.frames.add(place as usize).write(frame) };
        }
    }

    /// Leaves so many of those that were added.
    pub fn truncate(&mut self, count: u32) {
        self.count = self.count.min(count);
    }

    /// One that was added, if it is still there.
    pub fn get(&self, index: u32) -> Option<RawFrame> {
        // SAFETY: what was added and is still there was written, where there is room for it.
        self.place(index).map(|place| unsafe { self.room.frames.add(place as usize).read() })
    }

    /// The one that was added last.
    pub fn last(&self) -> Option<RawFrame> {
        self.get(self.count.checked_sub(1)?)
    }

    /// Adds so many of them once more, from this one on; `None` if they are not there any more.
    pub fn repeat(&mut self, first: u32, count: u32) -> Option<()> {
        let end = first.wrapping_add(count);
        // Each that is added may take one away, of those in the second half that which was added
        // first.
        let last = end <= self.half || self.count.wrapping_sub(first) <= self.second();
        if end > self.count || !last {
            return None;
        }
        for index in first..end {
            let frame = self.get(index)?;
            self.push(frame);
        }
        Some(())
    }

    /// Puts them into their order, and says how many are there.
    pub fn settle(&mut self) -> (u32, Told) {
        let told = |cut| Told { outset: self.outset, cut };
        if self.full() {
            return (self.half, told(Some(Cut { at: self.half, frames: 0 })));
        }
        let lacking = self.oldest.min(self.count).saturating_sub(self.half);
        if lacking == 0 {
            return (self.count, told(None));
        }
        let there = self.count.saturating_sub(self.oldest);
        let begin = self.place(self.oldest).unwrap_or(self.half).wrapping_sub(self.half);
        // SAFETY: the second half of the room, which is as long as it says and nobody else's, by
        // the promise of `of`; whatever lies there that no frame was written to is plain numbers.
        let ring = unsafe {
            core::slice::from_raw_parts_mut(self.room.frames.add(self.half as usize), self.second() as usize)
        };
        if begin as usize <= ring.len() {
            ring.rotate_left(begin as usize);
        }
        (self.half.wrapping_add(there), told(Some(Cut { at: self.half, frames: lacking })))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn frame(method: usize) -> RawFrame {
        RawFrame { bci: 7, method }
    }

    /// What is there of so many, in so much room.
    fn kept(depth: i32, added: usize) -> (Vec<usize>, Option<Cut>) {
        let mut room = std::vec![RawFrame::EMPTY; usize::try_from(depth).unwrap()];
        // SAFETY: as large as it says.
        let mut frames = unsafe { Frames::of(Room { frames: room.as_mut_ptr(), depth }) };
        (1..=added).for_each(|method| frames.push(frame(method)));
        let (count, told) = frames.settle();
        (room[..count as usize].iter().map(|frame| frame.method).collect(), told.cut)
    }

    #[test]
    fn what_there_is_room_for_is_whole() {
        for depth in 0..9 {
            for added in 0..=usize::try_from(depth).unwrap() {
                assert_eq!(kept(depth, added), ((1..=added).collect(), None), "{added} of {depth}");
            }
        }
    }

    #[test]
    fn of_more_the_two_ends_are_there_and_the_rest_is_counted() {
        for depth in 1..9_i32 {
            let [inner, outer] = [(depth + 1) / 2, depth / 2].map(|half| usize::try_from(half).unwrap());
            for added in inner + outer + 1..50 {
                let ends: Vec<usize> = (1..=inner).chain(added - outer + 1..=added).collect();
                let frames = u32::try_from(added - inner - outer).unwrap();
                let cut = Some(Cut { at: u32::try_from(inner).unwrap(), frames });
                assert_eq!(kept(depth, added), (ends, cut), "{added} of {depth}");
            }
        }
    }

    #[test]
    fn a_walk_without_an_end_ends() {
        let most = usize::try_from(MOST).unwrap();
        let at = |added| kept(8, added).1.map(|cut| (cut.at, cut.frames));
        assert_eq!([most - 1, most, most + 9].map(at), [Some((4, MOST - 1 - 8)), Some((4, 0)), Some((4, 0))]);
        assert_eq!(kept(8, most + 9).0, [1, 2, 3, 4], "the root is not known");
    }

    #[test]
    fn what_is_not_there_any_more_cannot_be_added_again() {
        let mut room = [RawFrame::EMPTY; 8];
        // SAFETY: as large as it says.
        let mut frames = unsafe { Frames::of(Room { frames: room.as_mut_ptr(), depth: 8 }) };
        (1..=6).for_each(|method| frames.push(frame(method)));
        assert_eq!((frames.repeat(4, 2), frames.last()), (Some(()), Some(frame(6))));
        assert_eq!(
            (frames.repeat(4, 2), frames.count()),
            (Some(()), 10),
            "the last time that they are there"
        );
        assert_eq!((frames.repeat(4, 2), frames.repeat(9, 2), frames.count()), (None, None, 10));
        assert_eq!(frames.repeat(0, 4), Some(()), "the innermost always are");
        assert_eq!(
            [3, 9, 10, 13, 14].map(|at| frames.get(at).map(|it| it.method)),
            [Some(4), None, Some(1), Some(4), None]
        );
    }
}
