//! Builds a stack from frames, from the root to the leaf, and decides how it ends. Some frames are
//! not methods.
//!
//! It must never take a walker's report of failure for a stack, or treat two frames as neighbours
//! if one is missing between them.

use crate::index::{NodeId, ReasonId, RecordingIndex, StackEnd};
use crate::pseudo_frames::PseudoFrame;

/// The reason for a frame without a method in the recording.
const UNNAMED: &str = "unnamed_method";

/// A stack that is being built, with what was seen since the root.
#[derive(Debug, Default)]
pub struct StackBuilder {
    leaf: Option<NodeId>,
    failure: Option<ReasonId>,
    thread_start: bool,
    has_no_java: bool,
    gap: bool,
}

/// A finished stack. Whether native frames alone are complete depends on its thread.
#[derive(Debug, Clone, Copy)]
pub struct BuiltStack {
    pub leaf: Option<NodeId>,
    pub end: StackEnd,
}

impl StackBuilder {
    /// Adds a method. `node` receives its caller, and whether frames are missing between the two.
    pub fn add_method(
        &mut self,
        index: &mut RecordingIndex,
        node: impl FnOnce(&mut RecordingIndex, Option<NodeId>, bool) -> NodeId,
    ) {
        let gap = std::mem::take(&mut self.gap);
        if self.leaf.is_none() && gap {
            // The root itself is missing.
            self.failure = Some(index.reason_id(UNNAMED));
        }
        self.leaf = Some(node(index, self.leaf, gap));
    }

    /// True if a method was added.
    pub fn has_method(&self) -> bool {
        self.leaf.is_some()
    }

    /// Records that the walk failed or broke off at this frame.
    pub fn add_failure(&mut self, why: ReasonId) {
        self.failure = Some(why);
    }

    /// Adds a frame that is not a Java method.
    pub fn add_pseudo_frame(&mut self, what: PseudoFrame) {
        match what {
            PseudoFrame::NoJava => self.has_no_java = true,
            PseudoFrame::ThreadStart => self.thread_start = true,
            PseudoFrame::UnknownMethod => self.gap = true,
            PseudoFrame::Native | PseudoFrame::WalkFailed => {}
        }
    }

    /// Finishes the stack. Returns `None` if there were no frames at all. `cut` means that outer
    /// frames are missing.
    pub fn finish(self, index: &mut RecordingIndex, is_empty: bool, cut: bool) -> Option<BuiltStack> {
        let Self { leaf, failure, thread_start, has_no_java, gap } = self;
        let end = match (leaf, failure) {
            (None, _) if has_no_java || thread_start => StackEnd::Outside,
            (None, Some(why)) => StackEnd::Missing(why),
            (None, None) if gap => StackEnd::Missing(index.reason_id(UNNAMED)),
            (None, None) if is_empty => return None,
            (Some(_), Some(why)) => StackEnd::Broken(why),
            (Some(_), None) if cut => StackEnd::Truncated,
            (_, None) => StackEnd::Complete,
        };
        Some(BuiltStack { leaf, end })
    }
}
