//! Implements `vouch top --tree`, the calls as a tree in text. Each method is below its caller.
//!
//! The rows that are shown must be the heaviest ones, so that no larger branch is left out for a
//! smaller one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use vouch_report::{WeightSum, float, grouped, percent, plain, shortened};

use crate::counted::Counted;
use crate::profile::{Profile, Sample};
use crate::tally::Rows;

/// Branches within more than this number of others are indented no further.
const MAX_INDENT: usize = 30;
/// However deep the tree is, this many characters of a name are printed.
const MIN_NAME_COLUMNS: usize = 24;

/// The methods of all samples with the callers that led to them.
#[derive(Debug)]
pub struct CallTree {
    /// The names of methods or lines, by row.
    names: Vec<String>,
    /// Callers come before their callees.
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    caller: Option<usize>,
    row: usize,
    own: u64,
    total: u64,
}

/// A node that is shown.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    node: usize,
    /// The number of branches that led here.
    branches: usize,
    /// True if the caller has several callees that are shown, or there is no caller.
    begins_branch: bool,
}

impl CallTree {
    /// Makes the tree of these samples. With `by_line`, each line of a method is a node.
    pub fn count(profile: &Profile, samples: &[Sample], by_line: bool) -> Self {
        let rows = if by_line { Rows::lines(profile) } else { Rows::methods(profile) };
        let mut tree = Self { names: Vec::new(), nodes: Vec::new() };
        let (mut of_stack, mut child) = (Vec::with_capacity(profile.stacks()), HashMap::new());
        // Callers come before their callees.
        for stack in 0..profile.stacks() {
            let caller = profile.caller(stack).map(|caller| of_stack[caller]);
            let node = *child.entry((caller, rows.row(stack))).or_insert_with_key(|&(caller, row)| {
                tree.nodes.push(Node { caller, row, own: 0, total: 0 });
                tree.nodes.len() - 1
            });
            of_stack.push(node);
        }
        for sample in samples {
            tree.nodes[of_stack[sample.stack]].own += sample.weight;
        }
        for node in (0..tree.nodes.len()).rev() {
            tree.nodes[node].total += tree.nodes[node].own;
            if let Some(caller) = tree.nodes[node].caller {
                tree.nodes[caller].total += tree.nodes[node].total;
            }
        }
        tree.names = rows.names;
        tree
    }

    /// Returns how many nodes have samples. Those of other samples' stacks have none.
    fn len(&self) -> usize {
        self.nodes.iter().filter(|node| node.total > 0).count()
    }

    /// Returns this many of the heaviest nodes, each after its caller, heavier branches first.
    fn shown(&self, count: usize) -> Vec<Shown> {
        let mut heaviest: Vec<usize> =
            (0..self.nodes.len()).filter(|node| self.nodes[*node].total > 0).collect();
        // A caller is at least as heavy as its callees, and comes before them.
        heaviest.sort_by_key(|node| (Reverse(self.nodes[*node].total), *node));
        heaviest.truncate(count);
        let mut callees = HashMap::<Option<usize>, Vec<usize>>::new();
        for node in heaviest {
            callees.entry(self.nodes[node].caller).or_default().push(node);
        }
        let mut shown = Vec::new();
        let below = |caller: Option<usize>, branches: usize| {
            let callees = callees.get(&caller).map_or(&[][..], Vec::as_slice);
            let begins_branch = caller.is_none() || callees.len() > 1;
            let branches = branches + usize::from(begins_branch);
            callees.iter().rev().map(move |node| Shown { node: *node, branches, begins_branch })
        };
        let mut next: Vec<Shown> = below(None, 0).collect();
        while let Some(one) = next.pop() {
            next.extend(below(Some(one.node), one.branches));
            shown.push(one);
        }
        shown
    }

    pub fn json(&self, told: &mut Value, counted: &Counted, all: WeightSum, rows: usize) {
        let shown = self.shown(rows);
        let (own_key, total_key) = (format!("self_{}", counted.key()), format!("total_{}", counted.key()));
        let mut depths = HashMap::new();
        told["rows"] = shown
            .iter()
            .map(|one| {
                let node = &self.nodes[one.node];
                let depth = node.caller.map_or(0, |caller| depths[&caller] + 1);
                depths.insert(one.node, depth);
                json!({
                    "name": self.names[node.row], "depth": depth, total_key.as_str(): counted.value(node.total),
                    "total_share": float(node.total) / float(all.weight), own_key.as_str(): counted.value(node.own),
                    "self_share": float(node.own) / float(all.weight),
                })
            })
            .collect();
        told["rows_left_out"] = (self.len() - shown.len()).into();
    }

    /// Prints the tree. `width` is the number of columns for a name with its indent.
    pub fn print(&self, text: &mut String, counted: &Counted, all: WeightSum, (rows, width): (usize, usize)) {
        let shown = self.shown(rows);
        text.push_str("      total    share     self  calls\n");
        for Shown { node, branches, begins_branch } in &shown {
            let Node { row, own, total, .. } = &self.nodes[*node];
            let indent = 2 * (branches - 1).min(MAX_INDENT);
            let mark = if *begins_branch { "- " } else { "  " };
            let widest = width.saturating_sub(indent + mark.len()).max(MIN_NAME_COLUMNS);
            let name = plain(&shortened(&self.names[*row], widest));
            let of_all = |weight: u64| percent(100.0 * float(weight) / float(all.weight));
            let own = if *own == 0 { String::new() } else { of_all(*own) };
            let share = of_all(*total);
            let _ = writeln!(
                text,
                "{:>11}  {share:>7}  {own:>7}  {:indent$}{mark}{name}",
                counted.amount(*total),
                ""
            );
        }
        if !shown.is_empty() {
            text.push_str("A dash begins a branch. A line without one is called by the line above it.\n");
        }
        if let left @ 1.. = self.len() - shown.len() {
            let _ = writeln!(text, "{} more rows: --rows shows more", grouped(left as u64));
        }
    }
}
