//! The tree of all walks: a node is a frame under all of its callers.
//!
//! Stacks share their outer frames, so what is known of a frame under its callers (its place in the
//! recording, and whether an edge on the way there was refuted) is known for all stacks that go
//! through it. A node is never taken out. There may be millions: none may have what all nodes of
//! its frame have, nor the index what the nodes have.

use vouch_recording::{Id, Index, StackId, Table, ids};
use vouch_sample::ResolvedFrame;

use super::reasons::Reasons;

ids! {
    /// A node.
    NodeId;
    /// A frame among all different ones.
    MeantId;
}

/// What is against a stack, by its place in the list of offences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffenceId(pub u32);

/// How far the frames up to a node hold, without the leaf's own bci and the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Proven,
    /// Some edges rest on explanations, or frames are missing.
    Explained(Reasons),
    /// By the outermost edge that is refuted.
    Refuted(OffenceId),
}

/// A frame under all of its callers.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub parent: Option<NodeId>,
    /// None: it stands for those that are lacking there.
    pub frame: Option<ResolvedFrame>,
    pub stack: StackId,
    pub standing: Standing,
    /// How many frames lie above it.
    pub depth: u32,
    /// Frames are lacking above it, or where it stands.
    pub cut: bool,
}

/// A node as it is kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    parent: Option<NodeId>,
    frame: Option<MeantId>,
    stack: StackId,
    standing: Standing,
    depth: u32,
    cut: bool,
}

/// All nodes.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Kept>,
    /// By the node above and the frame.
    children: Index<NodeId>,
    frames: Table<ResolvedFrame, MeantId>,
}

impl Tree {
    pub fn child(&self, parent: Option<NodeId>, frame: ResolvedFrame) -> Option<NodeId> {
        let wanted = Some((parent, self.frames.find(frame)?));
        self.children.find(&wanted, |id| self.nodes[id.row()].key() == wanted)
    }

    pub fn add(&mut self, node: Node) -> NodeId {
        let Node { parent, frame, stack, standing, depth, cut } = node;
        let frame = frame.map(|frame| self.frames.intern(frame));
        let (id, kept) =
            (NodeId::from_row(self.nodes.len()), Kept { parent, frame, stack, standing, depth, cut });
        self.nodes.push(kept);
        if kept.frame.is_some() {
            self.children.add(&kept.key(), id, |id| self.nodes[id.row()].key());
        }
        id
    }

    pub fn get(&self, id: NodeId) -> Node {
        let Kept { parent, frame, stack, standing, depth, cut } = self.nodes[id.row()];
        let frame = frame.map(|frame| self.frames.get(frame));
        Node { parent, frame, stack, standing, depth, cut }
    }

    /// How many there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The frames from a node to its root, leaf first; none where some are lacking.
    pub fn frames(&self, leaf: NodeId) -> impl Iterator<Item = Option<ResolvedFrame>> + '_ {
        let mut next = Some(leaf);
        std::iter::from_fn(move || {
            let node = self.get(next?);
            next = node.parent;
            Some(node.frame)
        })
    }
}

impl Kept {
    /// Where it is found.
    fn key(&self) -> Option<(Option<NodeId>, MeantId)> {
        Some((self.parent, self.frame?))
    }
}
