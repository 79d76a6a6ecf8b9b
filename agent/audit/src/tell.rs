//! What there is to say of an offence: whom it names, in which stack it stands, and what the bytecode has there.
//!
//! It must never show a source file that the class file does not name.

use std::cmp::Reverse;

use indexmap::IndexMap;
use vouch_proof::{called, listing};
use vouch_report::RefutationReport;

use crate::judge::Judge;
use crate::seen::{MethodId, Node, PlaceId, Seen};
use crate::stacks::{Against, Verdicts};
use crate::versions::{Ran, Version};

/// So many frames of a stack are shown, around the place,
const FRAMES: usize = 60;
/// and so many instructions before it and after it.
const AROUND: usize = 5;

/// So many refutations are told apart.
const MOST: usize = 500;

/// The most frequent refutations, each with a number, by which of the offences it is.
pub fn refutations(seen: &Seen, judge: &Judge<'_>, verdicts: &Verdicts) -> IndexMap<usize, RefutationReport> {
    let mut all: Vec<_> = verdicts.offences.iter().enumerate().collect();
    all.sort_by_key(|(_, (_, offence))| Reverse(offence.count));
    all.truncate(MOST);
    let numbered = all.into_iter().enumerate();
    let told = numbered.map(|(place, (number, ((kind, against), offence)))| {
        let leaf = seen.stacks[offence.stack.row()].leaf;
        let nodes: Vec<Node> = seen.nodes_from(leaf).collect();
        let frames: Vec<PlaceId> = nodes.iter().map(|node| node.place).collect();
        let method = |method: MethodId| judge.method(method).to_string();
        let (caller, found, expected, stands) = match *against {
            Against::Edge { caller, callee } => {
                let Placed { of, bci } = Placed::of(seen, caller);
                (method(of), method(callee), called(judge.method(of), bci), Some(caller))
            }
            Against::Leaf(leaf) => {
                let Placed { of, bci } = Placed::of(seen, leaf);
                (method(of), String::new(), called(judge.method(of), bci), Some(leaf))
            }
            Against::Root(root) => {
                let thread = &seen.threads[offence.thread.row()].name;
                (String::new(), method(root), format!("the beginning of thread \"{thread}\""), None)
            }
        };
        let at = place_in(seen, &nodes, *against);
        let (stack, at) = around(seen, judge, &frames, at);
        let code = stands.map(|stands| {
            let Placed { of, bci } = Placed::of(seen, stands);
            listing(judge.method(of), bci, AROUND)
        });
        let report = RefutationReport {
            number: place + 1,
            count: offence.count,
            kind: *kind,
            caller,
            bci: stands.map_or(0, |stands| seen.place(stands).bci),
            expected,
            found,
            stack,
            at,
            code: code.unwrap_or_default(),
            witness: None,
        };
        (number, report)
    });
    told.collect()
}

struct Placed {
    of: MethodId,
    bci: vouch_sample::Bci,
}

impl Placed {
    fn of(seen: &Seen, place: PlaceId) -> Self {
        let place = seen.place(place);
        Self { of: place.method, bci: place.bci }
    }
}

/// Where in a stack the refuted frame stands: an edge's caller under its callee, the outermost of several.
pub fn place_in(seen: &Seen, frames: &[Node], against: Against) -> Option<usize> {
    match against {
        Against::Edge { caller, callee } => {
            // Where frames are lacking between two the one is not said to have called the other.
            let is_edge = |pair: &[Node]| {
                let [inner, outer] = [pair[0], pair[1]];
                !inner.gap && seen.place(inner.place).method == callee && outer.place == caller
            };
            frames.windows(2).rposition(is_edge).map(|inner| inner + 1)
        }
        Against::Leaf(_) => Some(0),
        Against::Root(_) => frames.len().checked_sub(1),
    }
}

/// A stack's lines around a place, and which of them is the place.
fn around(
    seen: &Seen,
    judge: &Judge<'_>,
    frames: &[PlaceId],
    at: Option<usize>,
) -> (Vec<String>, Option<usize>) {
    let first = at.unwrap_or(0).saturating_sub(FRAMES / 2);
    let last = first.saturating_add(FRAMES).min(frames.len());
    let before = (first > 0).then(|| format!("… {first} frames"));
    let after = (last < frames.len()).then(|| format!("… {} frames", frames.len() - last));
    let shown_at = at.map(|at| at - first + usize::from(before.is_some()));
    let lines = frames[first..last].iter().map(|frame| line(seen, judge, *frame));
    (before.into_iter().chain(lines).chain(after).collect(), shown_at)
}

/// `com.foo.Bar.baz(Bar.java:12) @ 7`
fn line(seen: &Seen, judge: &Judge<'_>, place: PlaceId) -> String {
    let place = seen.place(place);
    let method = seen.method(place.method);
    let source = match judge.versions.get(method) {
        Version::Ran(Ran { file, .. }) => file.source.as_deref(),
        _ => None,
    };
    let at = match (source, place.line) {
        (Some(source), 0) => format!("({source})"),
        (Some(source), line) => format!("({source}:{line})"),
        (None, 0) => String::new(),
        (None, line) => format!("(line {line})"),
    };
    format!("{}.{}{at} @ {}", method.class.replace('/', "."), method.name, place.bci)
}
