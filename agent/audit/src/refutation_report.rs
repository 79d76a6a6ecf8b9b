//! Describes a refutation for the report: the methods, the stack, and the bytecode.
//!
//! It must never show a source file that the class file does not name.

use std::cmp::Reverse;

use indexmap::IndexMap;
use vouch_report::RefutationReport;
use vouch_sample::Bci;
use vouch_verify::proof::{describe_call, is_invoke, listing};

use crate::index::{CodeLocation, FrameDetail, LocationId, MethodId, Node, RecordingIndex};
use crate::judge::Judge;
use crate::overloads;
use crate::stacks::{RefutedPart, Verdicts};
use crate::versions::{LoadedClass, Version};

/// A refutation shows at most this many frames of its stack.
const MAX_FRAMES: usize = 60;
/// A refutation shows this many instructions before and after the call.
const INSTRUCTIONS_AROUND: usize = 5;

/// A description names at most this many calls of a line.
const MAX_CALLS: usize = 3;

/// At most this many refutations are described; the others are counted by kind.
const MAX_REFUTATIONS: usize = 500;

/// Returns the most frequent refutations, by their row among all refutations.
pub fn refutations(
    index: &RecordingIndex,
    judge: &Judge<'_>,
    verdicts: &Verdicts,
) -> IndexMap<usize, RefutationReport> {
    let mut all: Vec<_> = verdicts.refutations.iter().enumerate().collect();
    all.sort_by_key(|(_, (_, refutation))| Reverse(refutation.count));
    all.truncate(MAX_REFUTATIONS);
    let numbered = all.into_iter().enumerate();
    let reports = numbered.map(|(rank, (number, ((kind, against), refutation)))| {
        let leaf = index.stacks[refutation.stack.row()].leaf;
        let nodes: Vec<Node> = index.nodes_from(leaf).collect();
        let frames: Vec<LocationId> = nodes.iter().map(|node| node.location).collect();
        let name = |method: MethodId| judge.method(method).to_string();
        let (caller, found, expected, location) = match *against {
            RefutedPart::Edge { caller, callee } => {
                let calls = calls(index, judge, index.location(caller));
                (name(index.location(caller).method), name(callee), calls, Some(caller))
            }
            RefutedPart::Leaf(leaf) => {
                let CodeLocation { method, bci, .. } = index.location(leaf);
                (name(method), String::new(), describe_call(judge.method(method), bci), Some(leaf))
            }
            RefutedPart::Root(root) => {
                let thread = &index.threads[refutation.thread.row()].name;
                (String::new(), name(root), format!("the beginning of thread \"{thread}\""), None)
            }
        };
        let at = position_in_stack(index, &nodes, *against);
        let (stack, at) = frames_around(index, judge, &frames, at);
        let code = location.map(|location| {
            let CodeLocation { method, bci, .. } = index.location(location);
            listing(judge.method(method), bci, INSTRUCTIONS_AROUND)
        });
        let report = RefutationReport {
            number: rank + 1,
            count: refutation.count,
            kind: *kind,
            caller,
            bci: location.map_or(0, |location| index.location(location).bci),
            line: location
                .filter(|_| index.frame_detail != FrameDetail::Bytecode)
                .map(|location| index.location(location).line),
            expected,
            found,
            stack,
            at,
            code: code.unwrap_or_default(),
            witness: None,
        };
        (number, report)
    });
    reports.collect()
}

/// Returns the calls at a location as text. A location without a bytecode index may have several;
/// the first few are named.
fn calls(index: &RecordingIndex, judge: &Judge<'_>, location: CodeLocation) -> String {
    let CodeLocation { method: method_id, bci, line } = location;
    let method = judge.method(method_id);
    let declared = judge
        .versions
        .declared(index.method(method_id))
        .filter(|_| index.frame_detail != FrameDetail::Bytecode);
    let bcis = declared.map_or_else(Vec::new, |declared| overloads::call_sites(declared, line));
    let is_call =
        |bci: &Bci| method.instruction(*bci).is_some_and(|instruction| is_invoke(instruction.opcode));
    let calls: Vec<String> = bcis.into_iter().filter(is_call).map(|bci| describe_call(method, bci)).collect();
    match calls.len() {
        0 => describe_call(method, bci),
        few if few <= MAX_CALLS => calls.join(" or "),
        many => format!("{} or {} more", calls[..MAX_CALLS].join(" or "), many - MAX_CALLS),
    }
}

/// Returns the position of the refuted frame in a stack. For an edge it is the caller, in the
/// outermost of several such pairs.
pub fn position_in_stack(index: &RecordingIndex, frames: &[Node], against: RefutedPart) -> Option<usize> {
    match against {
        RefutedPart::Edge { caller, callee } => {
            // Two frames with a gap between them are not caller and callee.
            let is_edge = |pair: &[Node]| {
                let [inner, outer] = [pair[0], pair[1]];
                !inner.gap && index.location(inner.location).method == callee && outer.location == caller
            };
            frames.windows(2).rposition(is_edge).map(|inner| inner + 1)
        }
        RefutedPart::Leaf(_) => Some(0),
        RefutedPart::Root(_) => frames.len().checked_sub(1),
    }
}

/// Returns the frames around a position, and the index of that position among them.
fn frames_around(
    index: &RecordingIndex,
    judge: &Judge<'_>,
    frames: &[LocationId],
    at: Option<usize>,
) -> (Vec<String>, Option<usize>) {
    let first = at.unwrap_or(0).saturating_sub(MAX_FRAMES / 2);
    let last = first.saturating_add(MAX_FRAMES).min(frames.len());
    let before = (first > 0).then(|| format!("… {first} frames"));
    let after = (last < frames.len()).then(|| format!("… {} frames", frames.len() - last));
    let shown_at = at.map(|at| at - first + usize::from(before.is_some()));
    let lines = frames[first..last].iter().map(|frame| frame_text(index, judge, *frame));
    (before.into_iter().chain(lines).chain(after).collect(), shown_at)
}

/// Formats a frame, such as `com.foo.Bar.baz(Bar.java:12) @ 7`.
fn frame_text(index: &RecordingIndex, judge: &Judge<'_>, location: LocationId) -> String {
    let location = index.location(location);
    let method = index.method(location.method);
    let source = match judge.versions.get(method) {
        Version::Loaded(LoadedClass { file, .. }) => file.source.as_deref(),
        _ => None,
    };
    let at = match (source, location.line) {
        (Some(source), 0) => format!("({source})"),
        (Some(source), line) => format!("({source}:{line})"),
        (None, 0) => String::new(),
        (None, line) => format!("(line {line})"),
    };
    let bci = if index.frame_detail == FrameDetail::Bytecode {
        format!(" @ {}", location.bci)
    } else {
        String::new()
    };
    format!("{}.{}{at}{bci}", method.class.replace('/', "."), method.name)
}
