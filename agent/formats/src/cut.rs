//! Cuts deep stacks in the middle, for formats that write all frames of each stack. Otherwise a
//! recursion would fill the disk.
//!
//! Cutting a stack must take the same time however deep the stack is.

use std::iter;

use vouch_recording::{Id, Recording, StackId, StackRow};

/// A cut stack keeps this many of its outermost frames. A stack is cut if it has more frames than
/// this and [`MAX_INNER_FRAMES`] together.
pub const MAX_OUTER_FRAMES: usize = 256;
/// A cut stack keeps this many of its innermost frames.
pub const MAX_INNER_FRAMES: usize = 256;

/// The stacks of a recording, each with its depth and its outermost frames.
pub struct CutStacks<'r> {
    stacks: &'r [StackRow],
    rows: Vec<CutStack>,
}

#[derive(Debug, Clone, Copy)]
struct CutStack {
    depth: usize,
    /// The row of the stack that consists of the outermost frames. For a stack that is not deep, it
    /// is the stack's own row.
    outer: usize,
}

impl<'r> CutStacks<'r> {
    pub fn new(recording: &'r Recording) -> Self {
        let stacks = recording.stacks().rows();
        let mut rows: Vec<CutStack> = Vec::with_capacity(stacks.len());
        for (row, stack) in stacks.iter().enumerate() {
            rows.push(match stack.parent.map(|parent| rows[parent.row()]) {
                Some(CutStack { depth: depth @ MAX_OUTER_FRAMES.., outer }) => {
                    CutStack { depth: depth + 1, outer }
                }
                above => CutStack { depth: above.map_or(0, |above| above.depth) + 1, outer: row },
            });
        }
        Self { stacks, rows }
    }

    /// Returns the row of the stack that consists of the outermost frames of `stack`.
    pub fn outer(&self, stack: usize) -> usize {
        self.rows[stack].outer
    }

    /// Returns the inner frames of a stack, leaf first, without its outermost frames. There are at
    /// most `max`, and a final `None` if frames are left out.
    pub fn inner(&self, stack: usize, max: usize) -> impl Iterator<Item = Option<StackRow>> {
        let inner = self.rows[stack].depth.saturating_sub(MAX_OUTER_FRAMES);
        let left_out = (inner > max).then_some(None);
        self.callers(stack).take(inner.min(max)).map(Some).chain(left_out)
    }

    /// The frames of a stack, the leaf first, with `None` for the frames that are left out.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = Option<StackRow>> {
        let stack = stack.row();
        self.inner(stack, MAX_INNER_FRAMES).chain(self.callers(self.outer(stack)).map(Some))
    }

    fn callers(&self, stack: usize) -> impl Iterator<Item = StackRow> {
        let parent = |row: &StackRow| row.parent.map(|parent| self.stacks[parent.row()]);
        iter::successors(Some(self.stacks[stack]), parent)
    }
}
