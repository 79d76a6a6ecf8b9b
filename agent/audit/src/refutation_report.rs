//! What there is to say of an offence: whom it names, in which stack it stands, and what the
//! bytecode has there.
//!
//! It must never show a source file that the class file does not name.

use std::cmp::Reverse;

use indexmap::IndexMap;
use vouch_report::RefutationReport;
use vouch_sample::Bci;
use vouch_verify::proof::{describe_call, is_invoke, listing};

use crate::index::{MethodId, Node, Place, PlaceId, Says, Seen};
use crate::judge::Judge;
use crate::overloads;
use crate::stacks::{Against, Verdicts};
use crate::versions::{Ran, Version};

/// So many frames of a stack are shown, around the place,
const FRAMES: usize = 60;
/// and so many instructions before it and after it.
const AROUND: usize = 5;

/// So many calls of a line are named.
const CALLS: usize = 3;

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
                let calls = calls(seen, judge, seen.place(caller));
                (method(seen.place(caller).method), method(callee), calls, Some(caller))
            }
            Against::Leaf(leaf) => {
                let Place { method: of, bci, .. } = seen.place(leaf);
                (method(of), String::new(), describe_call(judge.method(of), bci), Some(leaf))
            }
            Against::Root(root) => {
                let thread = &seen.threads[offence.thread.row()].name;
                (String::new(), method(root), format!("the beginning of thread \"{thread}\""), None)
            }
        };
        let at = place_in(seen, &nodes, *against);
        let (stack, at) = around(seen, judge, &frames, at);
        let code = stands.map(|stands| {
            let Place { method, bci, .. } = seen.place(stands);
            listing(judge.method(method), bci, AROUND)
        });
        let report = RefutationReport {
            number: place + 1,
            count: offence.count,
            kind: *kind,
            caller,
            bci: stands.map_or(0, |stands| seen.place(stands).bci),
            line: stands.filter(|_| seen.says != Says::Places).map(|stands| seen.place(stands).line),
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

/// What a place calls; of one that is but a line, or a method, a few of the calls in it.
fn calls(seen: &Seen, judge: &Judge<'_>, place: Place) -> String {
    let Place { method, bci, line } = place;
    let of = judge.method(method);
    let declared = judge.versions.declared(seen.method(method)).filter(|_| seen.says != Says::Places);
    let places = declared.map_or_else(Vec::new, |declared| overloads::places(declared, line));
    let is_call = |bci: &Bci| of.instruction(*bci).is_some_and(|instruction| is_invoke(instruction.opcode));
    let calls: Vec<String> = places.into_iter().filter(is_call).map(|bci| describe_call(of, bci)).collect();
    match calls.len() {
        0 => describe_call(of, bci),
        few if few <= CALLS => calls.join(" or "),
        many => format!("{} or {} more", calls[..CALLS].join(" or "), many - CALLS),
    }
}

/// Where in a stack the refuted frame stands: an edge's caller under its callee, the outermost of
/// several.
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
    let bci = if seen.says == Says::Places { format!(" @ {}", place.bci) } else { String::new() };
    format!("{}.{}{at}{bci}", method.class.replace('/', "."), method.name)
}
