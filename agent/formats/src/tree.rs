//! Makes one tree of names from the stacks of a recording, for formats without threads and lines.
//!
//! Threads are merged, and so are stacks that differ only in lines. A deep stack is always cut in
//! the middle.

use std::collections::HashMap;

use vouch_recording::{FRAMES_LEFT_OUT, Id, Measure, Recording, StackRow, StringId, StringTable};

use crate::cut::{CutStacks, MAX_INNER_FRAMES};

/// A cut stack keeps this many innermost frames once the tree has [`MAX_CUT_NODES`] nodes more than
/// the recording has stacks. Cut stacks may share no nodes for their innermost frames.
const FEW_INNER_FRAMES: usize = 16;
const MAX_CUT_NODES: usize = 2 << 20;

/// The sorted names of a recording, without the characters that separate frames and lines. The rank
/// of a name is its index in the alphabetical order.
pub struct Names {
    rank_of: Vec<usize>,
    left_out: usize,
    pub by_rank: Vec<String>,
}

impl Names {
    pub fn new(strings: &StringTable) -> Self {
        let clean: Vec<String> = strings.iter().map(clean).collect();
        let mut by_rank = clean.clone();
        by_rank.push(FRAMES_LEFT_OUT.to_owned());
        by_rank.sort_unstable();
        by_rank.dedup();
        let rank = |name: &String| by_rank.partition_point(|other| other < name);
        Self {
            rank_of: clean.iter().map(rank).collect(),
            left_out: rank(&FRAMES_LEFT_OUT.to_owned()),
            by_rank,
        }
    }

    fn rank(&self, name: StringId) -> usize {
        self.rank_of[name.row()]
    }
}

fn clean(name: &str) -> String {
    let letter = |letter| match letter {
        ';' => ':',
        letter if char::is_control(letter) => ' ',
        letter => letter,
    };
    let name: String = name.chars().map(letter).collect();
    if name.trim().is_empty() { "[no name]".to_owned() } else { name }
}

/// The index of a node in the tree.
pub type NodeIndex = usize;

/// A node of the tree: a name, and the node of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub parent: Option<NodeIndex>,
    /// The rank of the node's name in [`Names`].
    pub rank: usize,
}

/// The tree of names, with the weight of the samples that end in each node.
pub struct Tree {
    /// The nodes of the tree, each after its caller.
    pub rows: Vec<Node>,
    pub weights: Vec<u64>,
}

/// The nodes of a tree under construction, and an index to find them.
#[derive(Default)]
struct Nodes {
    rows: Vec<Node>,
    indexes: HashMap<Node, NodeIndex>,
}

impl Nodes {
    fn index(&mut self, node: Node) -> NodeIndex {
        *self.indexes.entry(node).or_insert_with(|| {
            self.rows.push(node);
            self.rows.len() - 1
        })
    }
}

impl Tree {
    /// Makes the tree for one measure's samples.
    pub fn new(recording: &Recording, names: &Names, measure: &Measure) -> Self {
        let stacks = recording.stacks();
        let rank = |stack: StackRow| {
            let func = recording.frames().get(stack.frame).func;
            names.rank(recording.funcs().get(func).name)
        };
        let (mut nodes, cut) = (Nodes::default(), CutStacks::new(recording));
        // This is the node of each stack's outermost frames, by the stack's row.
        let mut outer: Vec<NodeIndex> = Vec::with_capacity(stacks.rows().len());
        for (row, stack) in stacks.rows().iter().enumerate() {
            let above = stack.parent.map(|parent| outer[parent.row()]);
            outer.push(match above {
                Some(node) if cut.outer(row) != row => node,
                _ => nodes.index(Node { parent: above, rank: rank(*stack) }),
            });
        }
        let mut weight_of = vec![0; stacks.rows().len()];
        for sample in recording.threads().iter().flat_map(|thread| thread.measured(measure)) {
            weight_of[sample.stack.row()] += sample.amount;
        }
        let mut weights = HashMap::new();
        let weighted = weight_of.into_iter().enumerate().filter(|(_, weight)| *weight > 0);
        for (leaf, weight) in weighted {
            let max = if nodes.rows.len() < stacks.rows().len() + MAX_CUT_NODES {
                MAX_INNER_FRAMES
            } else {
                FEW_INNER_FRAMES
            };
            let inner: Vec<_> =
                cut.inner(leaf, max).map(|frame| frame.map_or(names.left_out, rank)).collect();
            let mut node = outer[leaf];
            for rank in inner.into_iter().rev() {
                node = nodes.index(Node { parent: Some(node), rank });
            }
            *weights.entry(node).or_insert(0) += weight;
        }
        let rows = nodes.rows;
        let weights = (0..rows.len()).map(|node| weights.get(&node).copied().unwrap_or(0)).collect();
        Self { rows, weights }
    }
}
