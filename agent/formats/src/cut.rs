//! Cuts deep stacks in the middle, for formats that write all frames of each stack. Otherwise a
//! recursion would fill the disk.
//!
//! It must take the same time for each stack, however deep the stack is.

use std::iter;

use vouch_recording::{Id, Recording, StackRow};

/// How many outermost frames of a cut stack are kept. A stack is cut if it has more frames than
/// this and [`MAX_INNER_FRAMES`] together.
pub const MAX_OUTER_FRAMES: usize = 256;
/// How many innermost frames of a cut stack are kept.
pub const MAX_INNER_FRAMES: usize = 256;

/// The stacks of a recording, each with its depth and its outermost frames.
pub struct CutStacks<'r> {
    stacks: &'r [StackRow],
    rows: Vec<CutStack>,
}

#[derive(Debug, Clone, Copy)]
struct CutStack {
    depth: usize,
    /// The row of the stack of the outermost frames, which is the stack itself if it is not deep.
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

    /// The row of the stack of a stack's outermost frames.
    pub fn outer(&self, stack: usize) -> usize {
        self.rows[stack].outer
    }

    /// The frames that a stack has besides its outermost ones: at most `max`, the leaf first, then
    /// `None` if frames are left out.
    pub fn inner(&self, stack: usize, max: usize) -> impl Iterator<Item = Option<StackRow>> {
        let inner = self.rows[stack].depth.saturating_sub(MAX_OUTER_FRAMES);
        let left_out = (inner > max).then_some(None);
        self.callers(stack).take(inner.min(max)).map(Some).chain(left_out)
    }

    fn callers(&self, stack: usize) -> impl Iterator<Item = StackRow> {
        let parent = |row: &StackRow| row.parent.map(|parent| self.stacks[parent.row()]);
        iter::successors(Some(self.stacks[stack]), parent)
    }
}
