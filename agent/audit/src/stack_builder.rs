//! A stack's frames from its root to its leaf, those that are no methods among them: which of it is
//! a stack, and how it ends.
//!
//! It must never take a walk's own confession for a stack, or two frames for neighbours between
//! which one is lacking.

use crate::index::{NodeId, ReasonId, RecordingIndex, StackEnd};
use crate::pseudo_frames::PseudoFrame;

/// In the place of a frame whose method the recording does not name.
const UNNAMED: &str = "unnamed_method";

/// What was met on the way from the root.
#[derive(Debug, Default)]
pub struct StackBuilder {
    leaf: Option<NodeId>,
    failure: Option<ReasonId>,
    thread_start: bool,
    has_no_java: bool,
    gap: bool,
}

/// A stack, without what its thread has to say about it.
#[derive(Debug, Clone, Copy)]
pub struct BuiltStack {
    pub leaf: Option<NodeId>,
    pub end: StackEnd,
}

impl StackBuilder {
    /// A method: `node` is given what is above it, and whether frames are lacking between the two.
    pub fn add_method(
        &mut self,
        index: &mut RecordingIndex,
        node: impl FnOnce(&mut RecordingIndex, Option<NodeId>, bool) -> NodeId,
    ) {
        let gap = std::mem::take(&mut self.gap);
        if self.leaf.is_none() && gap {
            // Its root is not known.
            self.failure = Some(index.reason_id(UNNAMED));
        }
        self.leaf = Some(node(index, self.leaf, gap));
    }

    /// True if a method was met.
    pub fn has_method(&self) -> bool {
        self.leaf.is_some()
    }

    /// The walk failed, or ended there.
    pub fn add_failure(&mut self, why: ReasonId) {
        self.failure = Some(why);
    }

    pub fn add_pseudo_frame(&mut self, what: PseudoFrame) {
        match what {
            PseudoFrame::NoJava => self.has_no_java = true,
            PseudoFrame::ThreadStart => self.thread_start = true,
            PseudoFrame::UnknownMethod => self.gap = true,
            PseudoFrame::Native | PseudoFrame::WalkFailed => {}
        }
    }

    /// What has come of it; None: there were no frames at all. `cut` says that outer ones are
    /// lacking.
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
