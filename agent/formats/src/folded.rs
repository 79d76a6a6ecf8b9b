//! Writes folded stacks for flame graph tools. Each line has a stack and its weight:
//! `root;caller;leaf 42`.
//!
//! It must never hold all lines in memory. It makes one line at a time from a tree of names.

use std::io::{self, BufWriter, Write};
use std::ops::Range;

use vouch_recording::Recording;

use crate::meta::Meta;
use crate::tree::{Names, Node, NodeIndex, Tree};

/// Writes the weight of each stack, sorted by the names of its frames from the root.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let names = Names::new(recording.strings());
    let tree = Tree::new(recording, &names, meta.measure);
    let siblings = Siblings::new(&tree.rows);
    let mut line = String::new();
    // This is the path from the roots to the current node. Each level has the siblings that are not
    // yet written, and the column in which their names begin.
    let mut path = vec![(siblings.children(None), 0)];
    while let Some((level, start)) = path.last_mut() {
        let Some(node) = level.next().map(|at| siblings.sorted[at]) else {
            path.pop();
            continue;
        };
        line.truncate(*start);
        line.push_str(&names.by_rank[tree.rows[node].rank]);
        if tree.weights[node] > 0 {
            writeln!(out, "{line} {}", tree.weights[node])?;
        }
        line.push(';');
        path.push((siblings.children(Some(node)), line.len()));
    }
    out.flush()
}

/// The nodes of a tree, sorted so that siblings are adjacent and ordered by their names.
struct Siblings {
    sorted: Vec<NodeIndex>,
    /// The index in `sorted` at which the roots begin, followed by the index for the children of
    /// each node.
    starts: Vec<usize>,
}

impl Siblings {
    fn new(nodes: &[Node]) -> Self {
        let mut sorted: Vec<NodeIndex> = (0..nodes.len()).collect();
        sorted.sort_unstable_by_key(|node| (nodes[*node].parent, nodes[*node].rank));
        let mut starts = vec![0; nodes.len() + 2];
        for node in nodes {
            starts[start_index(node.parent) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self { sorted, starts }
    }

    fn children(&self, parent: Option<NodeIndex>) -> Range<usize> {
        let parent = start_index(parent);
        self.starts[parent]..self.starts[parent + 1]
    }
}

/// Returns the index in `starts` for the children of a parent. The roots have index 0.
fn start_index(parent: Option<NodeIndex>) -> usize {
    parent.map_or(0, |parent| parent + 1)
}
