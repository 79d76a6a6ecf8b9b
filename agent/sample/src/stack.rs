//! A stack: its frames, and where some of them are missing.
//!
//! A deep stack is cut in the middle, so that both of its ends are kept: the code that the thread
//! runs, and the method that it began with. The frames on the two sides of a cut have not called
//! each other. Code that reads a stack has to respect its cut.
//!
//! # Invariants
//!
//! **Invariant 29.** Where frames are missing in a stack, it says so, and no edge crosses that
//! cut. Reading deep stacks costs a share of the time, and no stack is lost because others are
//! being read. (`sample/src/stack.rs`, `unwind/src/hotspot/frames.rs`,
//! `agent/collect/src/record/stack_budget.rs`.) Held by: `agent/collect/src/record/tests.rs`;
//! `java-tests/profile/Depth.java`, `DeepCost.java`.

use crate::frame::{Frame, FrameMethod, MethodId};

/// Where frames of a stack are missing, because the stack was deeper than a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The number of frames before the cut, leaf first. If no frames come after it, the root of the
    /// stack is unknown.
    pub at: u32,
    /// The number of frames that are missing, or 0 if they were not counted.
    pub missing: u32,
}

/// The frames of a stack, leaf first, and where they are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack<'f, Id = MethodId> {
    pub frames: &'f [Frame<Id>],
    pub cut: Option<Cut>,
}

/// A frame and the frame that called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<Id = MethodId> {
    pub callee: Frame<Id>,
    pub caller: Frame<Id>,
    /// The index of the caller's frame, counted from the leaf.
    pub caller_at: usize,
}

impl<'f, Id: FrameMethod> Stack<'f, Id> {
    /// Makes a stack from which no frames are missing.
    #[must_use]
    pub const fn whole(frames: &'f [Frame<Id>]) -> Self {
        Self { frames, cut: None }
    }

    /// Makes a stack of the `max` innermost of these frames. If there are more, the stack is cut at
    /// its end, and its missing frames are not counted.
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

    /// Returns the frames from the leaf to the cut.
    #[must_use]
    pub fn inner(self) -> &'f [Frame<Id>] {
        self.split().0
    }

    /// Returns the frames from the cut to the root. The result is empty if the stack is whole, or
    /// if its root is unknown.
    #[must_use]
    pub fn outer(self) -> &'f [Frame<Id>] {
        self.split().1
    }

    /// Returns the outermost frame, or `None` if the stack was cut before it.
    #[must_use]
    pub fn root(self) -> Option<Frame<Id>> {
        let (inner, outer) = self.split();
        if self.cut.is_some() { outer.last().copied() } else { inner.last().copied() }
    }

    /// Pairs each frame with its caller, leaf first, if proof can judge the call. No pair crosses
    /// the cut, and none has native code on either side.
    pub fn edges(self) -> impl DoubleEndedIterator<Item = Call<Id>> + 'f
    where
        Id: 'f,
    {
        let (inner, outer) = self.split();
        let calls = |frames: &'f [Frame<Id>], first: usize| {
            frames.iter().zip(frames.iter().skip(1)).enumerate().map(move |(at, (callee, caller))| Call {
                callee: *callee,
                caller: *caller,
                caller_at: first + at + 1,
            })
        };
        calls(inner, 0)
            .chain(calls(outer, inner.len()))
            .filter(|call| call.caller.is_judged_caller_of(call.callee))
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
            let pairs = cut(at).edges().map(|call| (call.callee, call.caller));
            pairs.eq([(frame(1), frame(2)), (frame(3), frame(4))])
        };
        assert!(edges(2) && !edges(3));
        assert_eq!((cut(2).root(), cut(2).inner().len(), cut(2).outer().len()), (Some(frame(4)), 2, 2));
    }

    #[test]
    fn a_caller_has_its_index_on_both_sides_of_a_cut() {
        assert!(cut(2).edges().map(|call| call.caller_at).eq([1, 3]));
        assert!(Stack::whole(&FRAMES).edges().rev().map(|call| call.caller_at).eq([3, 2, 1]));
    }

    #[test]
    fn calls_from_and_into_native_code_are_skipped() {
        let (code, kernel) = (Frame::Native { pc: 7 }, Frame::Kernel { pc: usize::MAX });
        let native = Frame::JavaNative { method: MethodId(9) };
        let frames = [kernel, code, native, frame(1), code, frame(2), frame(3)];
        let calls = Stack::whole(&frames).edges().map(|call| (call.callee, call.caller_at));
        assert!(calls.eq([(native, 3), (frame(2), 6)]));
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
