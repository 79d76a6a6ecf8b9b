//! The stacks of a recording as one tree of names, for what shows no threads and no lines.
//!
//! Threads are merged, and so are stacks that differ in lines alone. A deep stack must never be
//! there whole: what shows it may have all of its frames in each line, and a recursion would fill
//! the disk. So it is cut in its middle.

use std::collections::HashMap;
use std::iter;

use vouch_recording::{Id, FRAMES_LEFT_OUT, Measure, Recording, StackRow, StringId, StringTable};

/// Of a stack of more frames than both together so many are there: from the root, and up to the
/// leaf.
pub const OUTER: usize = 256;
pub const INNER: usize = 256;
/// So many once the stacks that are cut have so many nodes of their own: no two of them need have
/// their innermost frames in common.
const FEW: usize = 16;
const MOST: usize = 2 << 20;

/// The names without what separates frames and lines, and their places in the order of the
/// alphabet.
pub struct Names {
    rank_of: Vec<usize>,
    left_out: usize,
    pub by_rank: Vec<String>,
}

impl Names {
    pub fn of(strings: &StringTable) -> Self {
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

/// A node's place in the tree.
pub type Place = usize;

/// A stack of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub parent: Option<Place>,
    /// Its name's place in the order of the alphabet.
    pub rank: usize,
}

pub struct Tree {
    /// Callers before their callees.
    pub rows: Vec<Node>,
    pub weights: Vec<u64>,
}

/// The nodes as they are found.
#[derive(Default)]
struct Nodes {
    rows: Vec<Node>,
    places: HashMap<Node, Place>,
}

impl Nodes {
    fn place(&mut self, node: Node) -> Place {
        *self.places.entry(node).or_insert_with(|| {
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
        // By stack: the node of its outermost frames, and how many it has.
        let mut outer: Vec<(Place, usize)> = Vec::with_capacity(stacks.rows().len());
        for stack in stacks.rows() {
            let above = stack.parent.map(|parent| outer[parent.row()]);
            let depth = above.map_or(0, |(_, depth)| depth) + 1;
            let node = match above {
                Some((node, OUTER..)) => node,
                _ => nodes.place(Node { parent: above.map(|(node, _)| node), rank: rank(*stack) }),
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
            let most = if nodes.rows.len() < stacks.rows().len() + MOST { INNER } else { FEW };
            let below = iter::successors(Some(stacks.rows()[leaf]), |stack| {
                stack.parent.map(|parent| stacks.get(parent))
            });
            inner.extend(below.take(most.min(depth.saturating_sub(OUTER))).map(rank));
            if depth > OUTER + most {
                node = nodes.place(Node { parent: Some(node), rank: names.left_out });
            }
            for rank in inner.iter().rev() {
                node = nodes.place(Node { parent: Some(node), rank: *rank });
            }
            *weights.entry(node).or_insert(0) += weight;
        }
        let rows = nodes.rows;
        let weights = (0..rows.len()).map(|node| weights.get(&node).copied().unwrap_or(0)).collect();
        Self { rows, weights }
    }
}
