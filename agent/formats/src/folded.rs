//! Folded stacks, one a line: `root;caller;leaf 42`, the weight last. Flame-graph tools read it.
//!
//! It must never hold the lines: they are made one at a time, from a tree of names.

use std::io::{self, BufWriter, Write};
use std::ops::Range;

use vouch_recording::Recording;

use crate::meta::Meta;
use crate::tree::{Names, Node, Place, Tree};

/// Writes the weight of each stack, sorted by the names of its frames from the root.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let names = Names::of(recording.strings());
    let tree = Tree::new(recording, &names, meta.measure);
    let siblings = Siblings::of(&tree.rows);
    let mut line = String::new();
    // The way down to where the walk stands: the siblings still to come, and where their names
    // begin.
    let mut path = vec![(siblings.children(None), 0)];
    while let Some((level, start)) = path.last_mut() {
        let Some(node) = level.next().map(|place| siblings.sorted[place]) else {
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

/// The nodes, siblings side by side and in the order of their names.
struct Siblings {
    sorted: Vec<Place>,
    /// Where in `sorted` the roots begin, then the children of each node.
    starts: Vec<usize>,
}

impl Siblings {
    fn of(nodes: &[Node]) -> Self {
        let mut sorted: Vec<Place> = (0..nodes.len()).collect();
        sorted.sort_unstable_by_key(|node| (nodes[*node].parent, nodes[*node].rank));
        let mut starts = vec![0; nodes.len() + 2];
        for node in nodes {
            starts[place(node.parent) + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        Self { sorted, starts }
    }

    fn children(&self, parent: Option<Place>) -> Range<usize> {
        let parent = place(parent);
        self.starts[parent]..self.starts[parent + 1]
    }
}

/// Where a parent's children are looked up: first those that have none.
fn place(parent: Option<Place>) -> usize {
    parent.map_or(0, |parent| parent + 1)
}
