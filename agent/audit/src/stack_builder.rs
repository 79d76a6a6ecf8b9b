//! A stack's frames from its root to its leaf, those that are no methods among them: which of it is
//! a stack, and how it ends.
//!
//! It must never take a walk's own confession for a stack, or two frames for neighbours between
//! which one is lacking.

use crate::index::{End, NodeId, ReasonId, Seen};
use crate::pseudo_frames::Foreign;

/// In the place of a frame whose method the recording does not name.
const UNNAMED: &str = "unnamed_method";

/// What was met on the way from the root.
#[derive(Debug, Default)]
pub struct Climb {
    leaf: Option<NodeId>,
    broken: Option<ReasonId>,
    begins: bool,
    no_java: bool,
    gap: bool,
}

/// A stack, without what its thread has to say about it.
#[derive(Debug, Clone, Copy)]
pub struct Foot {
    pub leaf: Option<NodeId>,
    pub end: End,
}

impl Climb {
    /// A method: `node` is given what is above it, and whether frames are lacking between the two.
    pub fn java(&mut self, seen: &mut Seen, node: impl FnOnce(&mut Seen, Option<NodeId>, bool) -> NodeId) {
        let gap = std::mem::take(&mut self.gap);
        if self.leaf.is_none() && gap {
            // Its root is not known.
            self.broken = Some(seen.reason(UNNAMED));
        }
        self.leaf = Some(node(seen, self.leaf, gap));
    }

    /// True if a method was met.
    pub fn has_begun(&self) -> bool {
        self.leaf.is_some()
    }

    /// The walk failed, or ended there.
    pub fn failed(&mut self, why: ReasonId) {
        self.broken = Some(why);
    }

    pub fn foreign(&mut self, what: Foreign) {
        match what {
            Foreign::NoJava => self.no_java = true,
            Foreign::Beginning => self.begins = true,
            Foreign::Unnamed => self.gap = true,
            Foreign::Native | Foreign::Failed => {}
        }
    }

    /// What has come of it; None: there were no frames at all. `cut` says that outer ones are
    /// lacking.
    pub fn foot(self, seen: &mut Seen, is_empty: bool, cut: bool) -> Option<Foot> {
        let Self { leaf, broken, begins, no_java, gap } = self;
        let end = match (leaf, broken) {
            (None, _) if no_java || begins => End::Outside,
            (None, Some(why)) => End::None(why),
            (None, None) if gap => End::None(seen.reason(UNNAMED)),
            (None, None) if is_empty => return None,
            (Some(_), Some(why)) => End::Broken(why),
            (Some(_), None) if cut => End::Cut,
            (_, None) => End::Whole,
        };
        Some(Foot { leaf, end })
    }
}
