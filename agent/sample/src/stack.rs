//! A stack from a walk: its frames, and where some of them are missing.
//!
//! A deep stack is cut in the middle, so that both of its ends are kept: the code that the thread
//! runs, and the method that it began with. The frames on the two sides of a cut have not called
//! each other. Code that reads a stack has to respect its cut.
//!
//! # Invariants
//!
//! **Invariant 29.** Where frames are missing in a stack, it says so, and no edge crosses that
//! cut. Reading deep stacks costs a share of the time, and no stack is lost because others are
//! being read. (`sample/src/stack.rs`, `walk/src/hotspot/frames.rs`,
//! `agent/src/record/room.rs`.) Held by: `agent/src/record/tests.rs`;
//! `java-tests/profile/Depth.java`, `DeepCost.java`.

use core::iter::Chain;
use core::slice::Windows;

use crate::frame::{Frame, MethodId};

/// Where frames of a stack are missing, because the stack was deeper than a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// How many frames are before the cut, leaf first. If no frames come after it, the root of the
    /// stack is unknown.
    pub at: u32,
    /// How many frames are missing, or 0 if they were not counted.
    pub missing: u32,
}

/// The frames of a stack, leaf first, and where they are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack<'f, Id = MethodId> {
    pub frames: &'f [Frame<Id>],
    pub cut: Option<Cut>,
}

impl<'f, Id: Copy> Stack<'f, Id> {
    /// Makes a stack without a cut.
    #[must_use]
    pub const fn whole(frames: &'f [Frame<Id>]) -> Self {
        Self { frames, cut: None }
    }

    /// Makes a stack of the `max` innermost frames. If there are more, the stack is cut at its end,
    /// and its missing frames are not counted.
    #[must_use]
    pub fn innermost(frames: &'f [Frame<Id>], max: usize) -> Self {
        match frames.get(..max) {
            Some(inner) if inner.len() < frames.len() => {
                let at = u32::try_from(max).unwrap_or(u32::MAX);
                Self { frames: inner, cut: Some(Cut { at, missing: 0 }) }
            }
            _ => Self::whole(frames),
        }
    }

    fn split(self) -> (&'f [Frame<Id>], &'f [Frame<Id>]) {
        let at = self.cut.map_or(self.frames.len(), |cut| cut.at as usize);
        self.frames.split_at_checked(at).unwrap_or((self.frames, &[]))
    }

    /// The frames from the leaf to the cut.
    #[must_use]
    pub fn inner(self) -> &'f [Frame<Id>] {
        self.split().0
    }

    /// The frames from the cut to the root. It is empty if the stack is whole, or its root unknown.
    #[must_use]
    pub fn outer(self) -> &'f [Frame<Id>] {
        self.split().1
    }

    /// The outermost frame, or `None` if the stack was cut before it.
    #[must_use]
    pub fn root(self) -> Option<Frame<Id>> {
        let (inner, outer) = self.split();
        if self.cut.is_some() { outer.last().copied() } else { inner.last().copied() }
    }

    /// Pairs each frame with its caller. No pair crosses the cut.
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
        Frame::new(MethodId(method), 0)
    }

    fn cut(at: u32) -> Stack<'static> {
        Stack { frames: &FRAMES, cut: Some(Cut { at, missing: 9 }) }
    }

    #[test]
    fn a_whole_stack_has_its_root_and_all_of_its_edges() {
        let stack = Stack::whole(&FRAMES);
        assert_eq!((stack.root(), stack.edges().count()), (Some(frame(4)), 3));
        assert_eq!((stack.inner(), stack.outer()), (FRAMES.as_slice(), [].as_slice()));
    }

    #[test]
    fn no_edge_crosses_a_cut() {
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
        let inner = Stack::innermost(&FRAMES, 3);
        assert_eq!((inner.frames, inner.root()), (&FRAMES[..3], None));
        assert_eq!([4, 5].map(|max| Stack::innermost(&FRAMES, max)), [Stack::whole(&FRAMES); 2]);
    }
}
