//! Folded stacks, one a line: `root;caller;leaf 42`, the weight last. Flame-graph tools read it.
//!
//! It must never hold the lines: they are made one at a time, from a tree of names.

use std::io::{self, BufWriter, Write};

use vouch_recording::Recording;

use crate::meta::Meta;
use crate::tree::{Names, Tree};

/// Writes the weight of each stack, sorted by the names of its frames from the root.
pub fn write(recording: &Recording, _: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let names = Names::of(recording.strings());
    let tree = Tree::of(recording, &names);
    let mut line = String::new();
    // The way down to where the walk stands: the siblings still to come, and where their names begin.
    let mut path = vec![(tree.children(None), 0)];
    while let Some((siblings, start)) = path.last_mut() {
        let Some(node) = siblings.next().map(|place| tree.sorted[place]) else {
            path.pop();
            continue;
        };
        line.truncate(*start);
        line.push_str(&names.by_rank[tree.rows[node].rank]);
        if tree.weights[node] > 0 {
            writeln!(out, "{line} {}", tree.weights[node])?;
        }
        line.push(';');
        path.push((tree.children(Some(node)), line.len()));
    }
    out.flush()
}
