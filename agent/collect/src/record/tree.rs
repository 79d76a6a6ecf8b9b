//! Stores all walks as a tree. A node is a frame under all of its callers.
//!
//! Stacks share their outer frames, so they share the nodes and their verdicts. A node is never
//! removed. There may be millions, so a node stores only an id of its frame, and the index stores
//! only ids of nodes.

use vouch_recording::{FrameId, Id, Index, StackId, Table, Trust, ids};
use vouch_sample::ResolvedFrame;

use super::reasons::Reasons;

ids! {
    /// The id of a node of the tree of walks.
    NodeId;
    /// The id of a distinct frame of walks.
    WalkFrameId;
}

/// The id of a refutation: its index in the list of refutations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RefutationIndex(pub u32);

/// The verdict on the frames from the root to a node. It covers neither the leaf's own bci nor the
/// root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Proven,
    /// Some edges are only plausible by an explanation, or frames are missing.
    Explained(Reasons),
    /// An edge is refuted. If several are, this is the refutation of the outermost one.
    Refuted(RefutationIndex),
}

impl Standing {
    /// Returns how far a stack with this verdict can be trusted.
    pub fn trust(self) -> Trust {
        match self {
            Self::Proven => Trust::Proven,
            Self::Explained(_) => Trust::Plausible,
            Self::Refuted(_) => Trust::Refuted,
        }
    }
}

/// A frame under all of its callers, or a placeholder for missing frames.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub parent: Option<NodeId>,
    /// The frame of the node. `None` if the node is a placeholder for missing frames.
    pub frame: Option<ResolvedFrame>,
    pub stack: StackId,
    pub standing: Standing,
    /// The number of edges between the node and the root.
    pub depth: u32,
    /// True if frames are missing above the node, or the node is a placeholder.
    pub cut: bool,
}

/// A node as the tree stores it, with an id instead of its frame.
#[derive(Debug, Clone, Copy)]
struct Kept {
    parent: Option<NodeId>,
    frame: Option<WalkFrameId>,
    stack: StackId,
    standing: Standing,
    depth: u32,
    cut: bool,
    /// The child that was found or added last.
    recent: Option<NodeId>,
}

/// The tree of all walks, with an index from parent and frame to child.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Kept>,
    /// The root that was found or added last.
    recent: Option<NodeId>,
    /// The children of nodes, by parent node and frame.
    children: Index<NodeId>,
    frames: Table<ResolvedFrame, WalkFrameId>,
    /// The recording's frame for each distinct frame, as far as it is final.
    recorded: Vec<Option<FrameId>>,
}

impl Tree {
    /// Adds a frame to the distinct frames, or finds it there.
    pub fn intern(&mut self, frame: ResolvedFrame) -> WalkFrameId {
        self.frames.intern(frame)
    }

    /// Returns the recording's frame for a distinct frame, if [`Self::set_recorded`] has set it.
    pub fn recorded(&self, frame: WalkFrameId) -> Option<FrameId> {
        self.recorded.get(frame.row()).copied().flatten()
    }

    /// Sets the recording's frame for a distinct frame. It must be the same for all walks.
    pub fn set_recorded(&mut self, frame: WalkFrameId, recorded: FrameId) {
        if self.recorded.len() <= frame.row() {
            self.recorded.resize(self.frames.rows().len(), None);
        }
        self.recorded[frame.row()] = Some(recorded);
    }

    /// Finds a node's child, or a root. It is the recent one in most cases, which needs no index.
    pub fn child(&mut self, parent: Option<NodeId>, frame: ResolvedFrame) -> Option<NodeId> {
        let wanted: Key = (parent, Some(frame));
        let recent = *self.recent(parent);
        let Self { nodes, frames, children, .. } = self;
        let is_wanted = |id: NodeId| key(nodes, frames, id) == wanted;
        if recent.is_some_and(is_wanted) {
            return recent;
        }
        let found = children.find(&wanted, is_wanted);
        if found.is_some() {
            *self.recent(parent) = found;
        }
        found
    }

    pub fn add(&mut self, node: Node) -> NodeId {
        let Node { parent, frame, stack, standing, depth, cut } = node;
        let kept = frame.map(|frame| self.frames.intern(frame));
        let id = NodeId::from_row(self.nodes.len());
        self.nodes.push(Kept { parent, frame: kept, stack, standing, depth, cut, recent: None });
        if let Some(frame) = frame {
            let Self { nodes, frames, children, .. } = self;
            children.add(&(parent, Some(frame)), id, |id| key(nodes, frames, id));
            *self.recent(parent) = Some(id);
        }
        id
    }

    /// Returns the child of a node that was found or added last, or the root.
    fn recent(&mut self, parent: Option<NodeId>) -> &mut Option<NodeId> {
        match parent {
            Some(parent) => &mut self.nodes[parent.row()].recent,
            None => &mut self.recent,
        }
    }

    pub fn get(&self, id: NodeId) -> Node {
        let Kept { parent, frame, stack, standing, depth, cut, .. } = self.nodes[id.row()];
        let frame = frame.map(|frame| self.frames.get(frame));
        Node { parent, frame, stack, standing, depth, cut }
    }

    /// Returns the number of nodes in the tree.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the frames from a node to its root, leaf first. `None` marks missing frames.
    pub fn frames(&self, leaf: NodeId) -> impl Iterator<Item = Option<ResolvedFrame>> + '_ {
        let mut next = Some(leaf);
        std::iter::from_fn(move || {
            let node = self.get(next?);
            next = node.parent;
            Some(node.frame)
        })
    }
}

/// The key of a node in the index. A placeholder has no frame.
type Key = (Option<NodeId>, Option<ResolvedFrame>);

fn key(nodes: &[Kept], frames: &Table<ResolvedFrame, WalkFrameId>, id: NodeId) -> Key {
    let Kept { parent, frame, .. } = nodes[id.row()];
    (parent, frame.map(|frame| frames.get(frame)))
}
