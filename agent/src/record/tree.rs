//! The tree of all walks: a node is a frame under all of its callers.
//!
//! Stacks share their outer frames, so what is known of a frame under its callers (its place in the recording, and
//! whether an edge on the way there was refuted) is known for all stacks that go through it. A node is never taken out.

use foldhash::HashMap;
use vouch_recording::StackId;
use vouch_sample::Meant;

/// A node, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// What is against a stack, by its place in the list of offences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffenceId(pub u32);

/// How far the frames up to a node hold, without the leaf's own bci and the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Proven,
    /// Some edge rests on an explanation.
    Explained,
    /// By the outermost edge that is refuted.
    Refuted(OffenceId),
}

/// A frame under all of its callers.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub parent: Option<NodeId>,
    /// None: it stands for those that are lacking there.
    pub frame: Option<Meant>,
    pub stack: StackId,
    pub standing: Standing,
    /// How many frames lie above it.
    pub depth: u32,
    /// Frames are lacking above it, or where it stands.
    pub cut: bool,
}

/// All nodes.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(Option<NodeId>, Meant), NodeId>,
}

impl Tree {
    pub fn child(&self, parent: Option<NodeId>, frame: Meant) -> Option<NodeId> {
        self.children.get(&(parent, frame)).copied()
    }

    pub fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        if let Some(frame) = node.frame {
            self.children.insert((node.parent, frame), id);
        }
        self.nodes.push(node);
        id
    }

    pub fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// How many there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The frames from a node to its root, leaf first; none where some are lacking.
    pub fn frames(&self, leaf: NodeId) -> impl Iterator<Item = Option<Meant>> + '_ {
        let mut next = Some(leaf);
        std::iter::from_fn(move || {
            let node = self.get(next?);
            next = node.parent;
            Some(node.frame)
        })
    }
}
