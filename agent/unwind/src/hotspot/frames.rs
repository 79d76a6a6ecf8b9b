//! The buffer into which a walk writes frames. A walk never writes more frames than the buffer has
//! space for.
//!
//! The first half of the buffer has the innermost frames. The second half is a ring, so it has the
//! outermost frames in the end. The frames between them are counted. A walk stops at
//! [`MAX_FRAMES`], and then only the innermost frames are reported, because the root is unknown.

use core::marker::PhantomData;

use vouch_sample::Cut;

use crate::walker::{RawFrame, ResumePoint, Room, StackInfo};

/// The maximal number of frames of a walk, which take some 10 to 30 ms.
const MAX_FRAMES: u32 = 1 << 20;

/// The buffer of frames that a walk fills.
#[derive(Debug)]
pub struct Frames<'r> {
    room: Room,
    /// The number of frames that were added, including the overwritten ones.
    count: u32,
    /// The index from which on frames are in the ring.
    half: u32,
    /// The index of the oldest frame that is still in the ring.
    oldest: u32,
    resume_point: ResumePoint,
    lent: PhantomData<&'r mut [RawFrame]>,
}

impl Frames<'_> {
    /// Creates an empty buffer of frames.
    ///
    /// # Safety
    /// The buffer must be as large as `room` says, and nothing else may use it meanwhile.
    pub unsafe fn new(room: Room) -> Self {
        let half = room.depth.max(1).cast_unsigned().div_ceil(2);
        Self { room, count: 0, half, oldest: half, resume_point: ResumePoint::default(), lent: PhantomData }
    }

    /// Returns how many frames the walk has added, including the overwritten ones.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Records where the walk found its first complete frame. `pc` is the return address in that
    /// frame. A frame that was added before is incomplete.
    pub fn set_resume_point(&mut self, pc: usize) {
        self.resume_point = ResumePoint { pc: pc.wrapping_sub(1), has_partial_leaf: self.count > 0 };
    }

    /// True if the walk has reached the limit of frames and has to stop.
    pub fn is_full(&self) -> bool {
        self.count >= MAX_FRAMES
    }

    /// Returns how many frames fit into the ring, which is the second half of the buffer.
    fn ring_length(&self) -> u32 {
        self.room.depth.max(0).cast_unsigned().saturating_sub(self.half)
    }

    /// Returns the position in the buffer of the frame with this index, if it was added and not
    /// overwritten.
    fn slot(&self, index: u32) -> Option<u32> {
        let in_ring = || {
            index
                .wrapping_sub(self.half)
                .checked_rem(self.ring_length())
                .map(|slot| slot.wrapping_add(self.half))
        };
        match () {
            () if index >= self.count => None,
            () if index < self.half => Some(index),
            () if index >= self.oldest => in_ring(),
            () => None,
        }
    }

    /// Adds a frame to the buffer. A full ring loses its oldest frame.
    pub fn push(&mut self, frame: RawFrame) {
        let index = self.count;
        if index >= MAX_FRAMES || self.room.depth <= 0 {
            return;
        }
        self.count = index.wrapping_add(1);
        if index >= self.half {
            self.oldest = self.oldest.max(self.count.saturating_sub(self.ring_length()));
        }
        if let Some(slot) = self.slot(index) {
            // SAFETY: `slot` returns an index below the buffer's length, and the caller of `new`
            // promised that length.
            unsafe { self.room.frames.add(slot as usize).write(frame) };
        }
    }

    /// Drops all frames but the first `count`.
    pub fn truncate(&mut self, count: u32) {
        self.count = self.count.min(count);
    }

    /// Returns the frame with this index, if it was added and not overwritten.
    pub fn get(&self, index: u32) -> Option<RawFrame> {
        // SAFETY: `slot` returns an index below the buffer's length, and the frame there was
        // written.
        self.slot(index).map(|slot| unsafe { self.room.frames.add(slot as usize).read() })
    }

    /// Returns the frame that the walk has added last.
    pub fn last(&self) -> Option<RawFrame> {
        self.get(self.count.checked_sub(1)?)
    }

    /// Adds `count` earlier frames of the walk again, beginning with the frame `first`. The result
    /// is `None` if one of them was overwritten.
    pub fn repeat(&mut self, first: u32, count: u32) -> Option<()> {
        let end = first.wrapping_add(count);
        // Each added frame may overwrite the oldest one in the ring.
        let last = end <= self.half || self.count.wrapping_sub(first) <= self.ring_length();
        if end > self.count || !last {
            return None;
        }
        for index in first..end {
            let frame = self.get(index)?;
            self.push(frame);
        }
        Some(())
    }

    /// Sorts the frames in the buffer from the leaf to the root, and returns how many there are.
    pub fn finish(&mut self) -> (u32, StackInfo) {
        let info = |cut| StackInfo { resume_point: self.resume_point, cut };
        if self.is_full() {
            return (self.half, info(Some(Cut { at: self.half, missing: 0 })));
        }
        let lacking = self.oldest.min(self.count).saturating_sub(self.half);
        if lacking == 0 {
            return (self.count, info(None));
        }
        let there = self.count.saturating_sub(self.oldest);
        let begin = self.slot(self.oldest).unwrap_or(self.half).wrapping_sub(self.half);
        // SAFETY: the ring is the second half of the buffer. The caller of `new` promised its
        // length and that nothing else uses it. Frames are plain numbers, so any content is valid.
        let ring = unsafe {
            core::slice::from_raw_parts_mut(
                self.room.frames.add(self.half as usize),
                self.ring_length() as usize,
            )
        };
        if begin as usize <= ring.len() {
            ring.rotate_left(begin as usize);
        }
        (self.half.wrapping_add(there), info(Some(Cut { at: self.half, missing: lacking })))
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

    /// Returns which frames a buffer of this depth keeps after a walk of `added` frames.
    fn kept(depth: i32, added: usize) -> (Vec<usize>, Option<Cut>) {
        let mut room = std::vec![RawFrame::EMPTY; usize::try_from(depth).unwrap()];
        // SAFETY: the buffer is as large as `depth` says.
        let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth }) };
        (1..=added).for_each(|method| frames.push(frame(method)));
        let (count, info) = frames.finish();
        (room[..count as usize].iter().map(|frame| frame.method).collect(), info.cut)
    }

    #[test]
    fn stacks_that_fit_are_complete() {
        for depth in 0..9 {
            for added in 0..=usize::try_from(depth).unwrap() {
                assert_eq!(kept(depth, added), ((1..=added).collect(), None), "{added} of {depth}");
            }
        }
    }

    #[test]
    fn deeper_stacks_keep_both_ends_and_count_the_rest() {
        for depth in 1..9_i32 {
            let [inner, outer] = [(depth + 1) / 2, depth / 2].map(|half| usize::try_from(half).unwrap());
            for added in inner + outer + 1..50 {
                let ends: Vec<usize> = (1..=inner).chain(added - outer + 1..=added).collect();
                let frames = u32::try_from(added - inner - outer).unwrap();
                let cut = Some(Cut { at: u32::try_from(inner).unwrap(), missing: frames });
                assert_eq!(kept(depth, added), (ends, cut), "{added} of {depth}");
            }
        }
    }

    #[test]
    fn an_endless_walk_stops_and_keeps_the_innermost_frames() {
        let max = usize::try_from(MAX_FRAMES).unwrap();
        let at = |added| kept(8, added).1.map(|cut| (cut.at, cut.missing));
        assert_eq!(
            [max - 1, max, max + 9].map(at),
            [Some((4, MAX_FRAMES - 1 - 8)), Some((4, 0)), Some((4, 0))]
        );
        assert_eq!(kept(8, max + 9).0, [1, 2, 3, 4], "the root is unknown");
    }

    #[test]
    fn overwritten_frames_cannot_be_repeated() {
        let mut room = [RawFrame::EMPTY; 8];
        // SAFETY: the buffer is as large as `depth` says.
        let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth: 8 }) };
        (1..=6).for_each(|method| frames.push(frame(method)));
        assert_eq!((frames.repeat(4, 2), frames.last()), (Some(()), Some(frame(6))));
        assert_eq!(
            (frames.repeat(4, 2), frames.count()),
            (Some(()), 10),
            "the last time before they are overwritten"
        );
        assert_eq!((frames.repeat(4, 2), frames.repeat(9, 2), frames.count()), (None, None, 10));
        assert_eq!(frames.repeat(0, 4), Some(()), "the innermost frames are never overwritten");
        assert_eq!(
            [3, 9, 10, 13, 14].map(|at| frames.get(at).map(|it| it.method)),
            [Some(4), None, Some(1), Some(4), None]
        );
    }
}
