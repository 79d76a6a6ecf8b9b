//! The stacks of a recording as one tree of names, for formats without threads and lines.
//!
//! Threads are merged, and also stacks that differ only in lines. A deep stack is always cut in the
//! middle: a format may write all frames in each line, so a recursion would fill the disk.

use std::collections::HashMap;
use std::iter;

use vouch_recording::{FRAMES_LEFT_OUT, Id, Measure, Recording, StackRow, StringId, StringTable};

/// How many outermost frames of a cut stack are kept. A stack is cut if it has more frames than
/// this and [`MAX_INNER_FRAMES`] together.
pub const MAX_OUTER_FRAMES: usize = 256;
/// How many innermost frames of a cut stack are kept.
pub const MAX_INNER_FRAMES: usize = 256;
/// How many innermost frames of a cut stack are kept once the tree has [`MAX_CUT_NODES`] nodes more
/// than the recording has stacks. Cut stacks may share no nodes for their innermost frames.
const FEW_INNER_FRAMES: usize = 16;
const MAX_CUT_NODES: usize = 2 << 20;

/// The names of a recording without the characters that separate frames and lines, in alphabetical
/// order. The rank of a name is its index in that order.
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
    /// The nodes. Callers come before their callees.
    pub rows: Vec<Node>,
    pub weights: Vec<u64>,
}

/// The nodes of a tree that is being made, and an index of them.
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
    /// The tree of one measure's samples.
    pub fn new(recording: &Recording, names: &Names, measure: &Measure) -> Self {
        let stacks = recording.stacks();
        let rank = |stack: StackRow| {
            let func = recording.frames().get(stack.frame).func;
            names.rank(recording.funcs().get(func).name)
        };
        let mut nodes = Nodes::default();
        // For each stack the node of its outermost frames, and its number of frames.
        let mut outer: Vec<(NodeIndex, usize)> = Vec::with_capacity(stacks.rows().len());
        for stack in stacks.rows() {
            let above = stack.parent.map(|parent| outer[parent.row()]);
            let depth = above.map_or(0, |(_, depth)| depth) + 1;
            let node = match above {
                Some((node, MAX_OUTER_FRAMES..)) => node,
                _ => nodes.index(Node { parent: above.map(|(node, _)| node), rank: rank(*stack) }),
            };
            outer.push((node, depth));
        }
        let mut weight_of = vec![0; stacks.rows().len()];
        for sample in recording.threads().iter().flat_map(|thread| thread.measured(measure)) {
            weight_of[sample.stack.row()] += sample.amount;
        }
        let mut weights = HashMap::new();
        let mut inner = Vec::new();
        let weighted = weight_of.into_iter().enumerate().filter(|(_, weight)| *weight > 0);
        for (leaf, weight) in weighted {
            let (mut node, depth) = outer[leaf];
            inner.clear();
            let most = if nodes.rows.len() < stacks.rows().len() + MAX_CUT_NODES {
                MAX_INNER_FRAMES
            } else {
                FEW_INNER_FRAMES
            };
            let below = iter::successors(Some(stacks.rows()[leaf]), |stack| {
                stack.parent.map(|parent| stacks.get(parent))
            });
            inner.extend(below.take(most.min(depth.saturating_sub(MAX_OUTER_FRAMES))).map(rank));
            if depth > MAX_OUTER_FRAMES + most {
                node = nodes.index(Node { parent: Some(node), rank: names.left_out });
            }
            for rank in inner.iter().rev() {
                node = nodes.index(Node { parent: Some(node), rank: *rank });
            }
            *weights.entry(node).or_insert(0) += weight;
        }
        let rows = nodes.rows;
        let weights = (0..rows.len()).map(|node| weights.get(&node).copied().unwrap_or(0)).collect();
        Self { rows, weights }
    }
}
