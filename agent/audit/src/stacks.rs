//! Judges each stack of a recording, and counts the fates of its events, as in a trust report.
//!
//! It must never judge frames that the recorder says are missing, or count an event twice.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use vouch_recording::{ByFate, ExecutionMode, Fate, Trust};
use vouch_verify::proof::{Explanation, Refutation, Thread as ThreadStart, Verdict, root};

use crate::index::{
    KindId, LocationId, MethodId, NodeId, RecordingIndex, Stack, StackEnd, StackId, ThreadId, add,
};
use crate::judge::{Edge, Judge};
use crate::unjudged::{Judged, Unjudged};

/// The part of a stack that refutes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefutedPart {
    Edge {
        caller: LocationId,
        callee: MethodId,
    },
    Leaf(LocationId),
    /// The root: the thread began elsewhere than in this method.
    Root(MethodId),
}

/// The events that one part refutes.
#[derive(Debug, Clone, Copy)]
pub struct RefutedEvents {
    pub count: u64,
    /// An example: one of the stacks that are refuted.
    pub stack: StackId,
    pub thread: ThreadId,
}

/// The verdict on a stack from its root to one of its nodes.
#[derive(Debug, Clone, Copy, Default)]
struct StackVerdict {
    refuted: Option<(Refutation, RefutedPart)>,
    explained: bool,
    unjudged: bool,
    /// True if frames are missing in the stack, so that neighbouring frames need not be a call.
    has_gap: bool,
}

/// The fates of the events of one kind.
#[derive(Debug, Clone, Default)]
pub struct KindTally {
    pub fates: ByFate<u64>,
    /// The number of plausible events with an edge that could not be judged.
    pub unjudged: u64,
    /// The number of events with a stack that the recorder cut at its depth limit.
    pub cut: u64,
    /// The number of events with a walk that broke off before the root.
    pub broken: u64,
}

/// The verdict on a thread's events with one stack.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub trust: Trust,
    /// The row of the refutation, if the stack is refuted.
    pub refutation: Option<usize>,
}

/// All verdicts and counts of an audit.
#[derive(Debug, Default)]
pub struct Verdicts {
    pub kinds: HashMap<KindId, KindTally>,
    pub threads: HashMap<ThreadId, ByFate<u64>>,
    /// The refuted events by kind and part, in order of first appearance.
    pub refutations: IndexMap<(Refutation, RefutedPart), RefutedEvents>,
    pub outcomes: HashMap<(ThreadId, StackId), Outcome>,
    pub refuted: BTreeMap<&'static str, u64>,
    /// The number of events without a stack, by reason in the recorder's words.
    pub unwalked: BTreeMap<String, u64>,
    /// The number of events with a walk that broke off, by reason in the recorder's words.
    pub broken: BTreeMap<String, u64>,
    /// The number of edges in the stacks of all events, repeated ones included.
    pub checked: u64,
    /// The number of edges in stacks that could not be judged, by reason.
    pub unjudged: BTreeMap<&'static str, u64>,
    /// The verdict on each distinct edge.
    pub edges: HashMap<Edge, Judged>,
    /// The number of events with an unjudged edge, by the edge's caller.
    pub unjudged_callers: HashMap<MethodId, u64>,
    /// The leaves of complete stacks without a gap that nothing refutes.
    pub intact_leaves: Vec<NodeId>,
}

/// Judges all stacks of a recording. `main_thread_names` are the names of the launcher's main
/// thread. Its root is `main`.
pub fn judge(index: &RecordingIndex, judge: &mut Judge<'_>, main_thread_names: &[&str]) -> Verdicts {
    let nodes = judge_nodes(index, judge);
    let mut roots = Roots::from_stacks(index, judge, main_thread_names);
    let mut verdicts = Verdicts::default();
    // Sorting makes the order of the results the same in each run.
    let mut counts: Vec<_> = index.counts.iter().map(|(key, count)| (*key, *count)).collect();
    counts.sort_unstable();
    for ((kind, thread, stack), count) in counts {
        let Stack { leaf, end } = index.stacks[stack.row()];
        let mut stack_verdict = leaf.map_or_else(StackVerdict::default, |leaf| nodes[leaf.row()]);
        if let Some(leaf) = leaf {
            let location = index.node(leaf).location;
            stack_verdict = stack_verdict.and(judge.leaf(index, location), RefutedPart::Leaf(location));
        }
        if let (Some(leaf), StackEnd::Complete) = (leaf, end) {
            let (method, verdict) = roots.verdict(index, judge, thread, leaf);
            stack_verdict = stack_verdict.and(verdict, RefutedPart::Root(method));
        }
        let trust = Verdicts::trust(stack_verdict, end);
        verdicts.count(index, (kind, thread, stack), (stack_verdict, trust, end), count);
    }
    verdicts.intact_leaves = find_intact_leaves(index, &nodes);
    verdicts.count_edges(index, judge);
    verdicts
}

/// Returns the verdict on the stack of each node, from the root to that node.
fn judge_nodes(index: &RecordingIndex, judge: &Judge<'_>) -> Vec<StackVerdict> {
    let mut nodes: Vec<StackVerdict> = Vec::with_capacity(index.nodes.len());
    for node in &index.nodes {
        let mut stack_verdict = node.caller.map_or_else(StackVerdict::default, |caller| nodes[caller.row()]);
        stack_verdict.has_gap |= node.gap || node.filtered;
        let stack_verdict = match judge.edge(index, *node) {
            Some(((caller, callee), judged)) => {
                stack_verdict.and(judged, RefutedPart::Edge { caller, callee })
            }
            None => stack_verdict,
        };
        nodes.push(stack_verdict);
    }
    nodes
}

fn find_intact_leaves(index: &RecordingIndex, nodes: &[StackVerdict]) -> Vec<NodeId> {
    let stacks =
        index.stacks.iter().filter(|stack| stack.end == StackEnd::Complete).filter_map(|stack| stack.leaf);
    let is_intact = |stack_verdict: &StackVerdict| stack_verdict.refuted.is_none() && !stack_verdict.has_gap;
    stacks.filter(|leaf| is_intact(&nodes[leaf.row()])).collect()
}

impl StackVerdict {
    fn and(mut self, judged: Judged, part: RefutedPart) -> Self {
        match judged {
            Ok(Verdict::Proven) => {}
            Ok(Verdict::Explained(Explanation::Unread)) | Err(_) => self.unjudged = true,
            Ok(Verdict::Explained(_)) => self.explained = true,
            Ok(Verdict::Refuted(kind)) => drop(self.refuted.get_or_insert((kind, part))),
        }
        self
    }
}

impl Verdicts {
    fn trust(stack_verdict: StackVerdict, end: StackEnd) -> Trust {
        match (end, stack_verdict) {
            (StackEnd::Outside, _) => Trust::Unchecked,
            (StackEnd::Missing(_), _) => Trust::Unwalked,
            (_, StackVerdict { refuted: Some(_), .. }) => Trust::Refuted,
            (StackEnd::Complete, StackVerdict { explained: false, unjudged: false, .. }) => Trust::Proven,
            _ => Trust::Plausible,
        }
    }

    fn count(
        &mut self,
        index: &RecordingIndex,
        (kind, thread, stack): (KindId, ThreadId, StackId),
        (stack_verdict, trust, end): (StackVerdict, Trust, StackEnd),
        count: u64,
    ) {
        // A recording of another profiler does not say what a thread was executing.
        let fate = Fate::new(ExecutionMode::Java, trust);
        let tally = self.kinds.entry(kind).or_default();
        add(tally.fates.get_mut(fate), count);
        add(self.threads.entry(thread).or_default().get_mut(fate), count);
        if trust == Trust::Plausible && stack_verdict.unjudged {
            add(&mut tally.unjudged, count);
        }
        match end {
            StackEnd::Truncated => add(&mut tally.cut, count),
            StackEnd::Broken(why) => {
                add(&mut tally.broken, count);
                add(self.broken.entry(index.reasons[why.row()].clone()).or_default(), count);
            }
            StackEnd::Missing(why) => {
                add(self.unwalked.entry(index.reasons[why.row()].clone()).or_default(), count);
            }
            StackEnd::Complete | StackEnd::Outside => {}
        }
        let refutation = stack_verdict.refuted.filter(|_| trust == Trust::Refuted).map(|refutation| {
            add(self.refuted.entry(refutation.0.name()).or_default(), count);
            let refutation = self.refutations.entry(refutation);
            let number = refutation.index();
            add(&mut refutation.or_insert(RefutedEvents { count: 0, stack, thread }).count, count);
            number
        });
        self.outcomes.insert((thread, stack), Outcome { trust, refutation });
    }

    /// Counts each edge by the events that have it in their stacks, and each distinct edge once.
    fn count_edges(&mut self, index: &RecordingIndex, judge: &Judge<'_>) {
        for (node, weight) in index.nodes.iter().zip(index.weights()) {
            let Some((edge, judged)) = judge.edge(index, *node) else { continue };
            add(&mut self.checked, weight);
            self.edges
                .entry(edge)
                .and_modify(|known| *known = combine_verdicts(*known, judged))
                .or_insert(judged);
            if let Err(why) = judged {
                add(self.unjudged.entry(why.name()).or_default(), weight);
                add(self.unjudged_callers.entry(index.location(edge.0).method).or_default(), weight);
            }
        }
    }
}

/// Combines two verdicts on an edge. A refutation wins, because the other stack may have been
/// filtered.
fn combine_verdicts(one: Judged, other: Judged) -> Judged {
    if matches!(other, Ok(Verdict::Refuted(_))) { other } else { one }
}

/// The roots of threads, learned from their stacks. A thread that was once seen to begin in `run`
/// always begins there.
#[derive(Debug)]
struct Roots {
    starts: HashMap<ThreadId, ThreadStart>,
    verdicts: HashMap<(ThreadId, MethodId), Judged>,
    /// The location of the root, by node.
    outermost: Vec<LocationId>,
}

impl Roots {
    fn from_stacks(index: &RecordingIndex, judge: &mut Judge<'_>, main_thread_names: &[&str]) -> Self {
        let mut roots: Vec<LocationId> = Vec::with_capacity(index.nodes.len());
        for node in &index.nodes {
            let root = node.caller.map_or(node.location, |caller| roots[caller.row()]);
            roots.push(root);
        }
        let mut learned = Self { starts: HashMap::new(), verdicts: HashMap::new(), outermost: roots };
        for (_, thread, stack) in index.counts.keys() {
            let Stack { leaf: Some(leaf), end: StackEnd::Complete } = index.stacks[stack.row()] else {
                continue;
            };
            let known = &index.threads[thread.row()];
            // A native program that created the JVM may call any method from its first thread.
            let main = main_thread_names.contains(&&*known.name);
            let method = index.location(learned.outermost[leaf.row()]).method;
            let starts = learned.starts.entry(*thread).or_insert(if main {
                ThreadStart::Main
            } else {
                ThreadStart::Attached
            });
            // Threads without an id cannot be distinguished, so they teach nothing.
            if known.number != 0
                && *starts == ThreadStart::Attached
                && verdict(judge, method, ThreadStart::Started) == Verdict::Proven
            {
                *starts = ThreadStart::Started;
            }
        }
        learned
    }

    fn verdict(
        &mut self,
        index: &RecordingIndex,
        judge: &mut Judge<'_>,
        thread: ThreadId,
        leaf: NodeId,
    ) -> (MethodId, Judged) {
        let method = index.location(self.outermost[leaf.row()]).method;
        if index.method(method).descriptor.is_empty() {
            return (method, Err(Unjudged::Overload));
        }
        let starts = self.starts.get(&thread).copied().unwrap_or(ThreadStart::Attached);
        (method, *self.verdicts.entry((thread, method)).or_insert_with(|| Ok(verdict(judge, method, starts))))
    }
}

/// Returns the verdict on a root. A class that was not found may be a thread.
fn verdict(judge: &mut Judge<'_>, method: MethodId, starts: ThreadStart) -> Verdict {
    let class = judge.method(method).class.clone();
    let is_thread = judge.is_thread(&class.name).unwrap_or(true);
    root(judge.method(method), starts, || is_thread)
}
