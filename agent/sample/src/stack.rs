//! A stack as a walk has found it: its frames, and where some of them are lacking.
//!
//! A deep stack is cut in the middle, so that its two ends are there: where the thread is, and
//! where it began. Who has frames has to ask where they are cut: on both sides of that stand frames
//! that have not called each other.
//!
//! # Invariants
//!
//! **Invariant 29.** Where frames are missing in a stack, it says so, and no edge crosses that
//! place. Reading deep stacks costs a share of the time, and no stack is lost because others are
//! being read. (`sample/src/stack.rs`, `walk/src/hotspot/frames.rs`, `agent/src/record/room.rs`.) Held
//! by: `agent/src/record/tests.rs`; `java-tests/profile/Depth.java`, `DeepCost.java`.

use core::iter::Chain;
use core::slice::Windows;

use crate::frame::{Frame, MethodId};

/// Where frames of a stack are lacking, for want of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Behind so many frames, leaf first. If there are no more, the stack's root is not known.
    pub at: u32,
    /// How many; 0 if nobody has counted them.
    pub frames: u32,
}

/// Frames, leaf first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack<'f, Id = MethodId> {
    pub frames: &'f [Frame<Id>],
    pub cut: Option<Cut>,
}

impl<'f, Id: Copy> Stack<'f, Id> {
    /// Of which nothing is lacking.
    #[must_use]
    pub const fn whole(frames: &'f [Frame<Id>]) -> Self {
        Self { frames, cut: None }
    }

    /// Its so many innermost frames, if that are not all; how many are lacking then nobody says.
    #[must_use]
    pub fn of_most(frames: &'f [Frame<Id>], most: usize) -> Self {
        match frames.get(..most) {
            Some(inner) if inner.len() < frames.len() => {
                let at = u32::try_from(most).unwrap_or(u32::MAX);
                Self { frames: inner, cut: Some(Cut { at, frames: 0 }) }
            }
            _ => Self::whole(frames),
        }
    }

    fn split(self) -> (&'f [Frame<Id>], &'f [Frame<Id>]) {
        let at = self.cut.map_or(self.frames.len(), |cut| cut.at as usize);
        self.frames.split_at_checked(at).unwrap_or((self.frames, &[]))
    }

    /// From the leaf to where it is cut.
    #[must_use]
    pub fn inner(self) -> &'f [Frame<Id>] {
        self.split().0
    }

    /// From where it is cut to the root; empty if it is whole, or its root not known.
    #[must_use]
    pub fn outer(self) -> &'f [Frame<Id>] {
        self.split().1
    }

    /// The frame that the thread began with, if it is there.
    #[must_use]
    pub fn root(self) -> Option<Frame<Id>> {
        let (inner, outer) = self.split();
        if self.cut.is_some() { outer.last().copied() } else { inner.last().copied() }
    }

    /// Each frame with its caller.
    pub fn edges(self) -> Chain<Windows<'f, Frame<Id>>, Windows<'f, Frame<Id>>> {
        let (inner, outer) = self.split();
        inner.windows(2).chain(outer.windows(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: [Frame; 4] = [frame(1), frame(2), frame(3), frame(4)];

    const fn frame(method: usize) -> Frame {
        Frame::of(MethodId(method), 0)
    }

    fn cut(at: u32) -> Stack<'static> {
        Stack { frames: &FRAMES, cut: Some(Cut { at, frames: 9 }) }
    }

    #[test]
    fn a_whole_stack_has_its_root_and_all_of_its_edges() {
        let stack = Stack::whole(&FRAMES);
        assert_eq!((stack.root(), stack.edges().count()), (Some(frame(4)), 3));
        assert_eq!((stack.inner(), stack.outer()), (FRAMES.as_slice(), [].as_slice()));
    }

    #[test]
    fn nobody_has_called_across_a_cut() {
        let edges = |at| {
            cut(at).edges().map(|pair| (pair[0], pair[1])).eq([(frame(1), frame(2)), (frame(3), frame(4))])
        };
        assert!(edges(2) && !edges(3));
        assert_eq!((cut(2).root(), cut(2).inner().len(), cut(2).outer().len()), (Some(frame(4)), 2, 2));
    }

    #[test]
    fn a_stack_that_is_cut_at_its_end_has_no_root() {
        for at in [4, 5, u32::MAX] {
            assert_eq!((cut(at).root(), cut(at).edges().count()), (None, 3), "at {at}");
        }
        let most = Stack::of_most(&FRAMES, 3);
        assert_eq!((most.frames, most.root()), (&FRAMES[..3], None));
        assert_eq!([4, 5].map(|most| Stack::of_most(&FRAMES, most)), [Stack::whole(&FRAMES); 2]);
    }
}
