//! How each stack of a recording stands, and so what became of its events: their fates, as in a
//! trust report of Vouch's own.
//!
//! It must never judge a stack by what its recorder says is not there, and never count an event
//! twice.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use vouch_recording::{ByFate, Fate};
use vouch_verify::proof::{Explanation, Refutation, Thread as Began, Verdict, root};

use crate::index::{End, KindId, MethodId, NodeId, PlaceId, Seen, Stack, StackId, ThreadId, add};
use crate::judge::{Edge, Judge};
use crate::unjudged::{Judged, Unjudged};

/// The place that refutes stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Against {
    Edge {
        caller: PlaceId,
        callee: MethodId,
    },
    Leaf(PlaceId),
    /// Wherever in it the walk has ended, of a thread that began otherwise.
    Root(MethodId),
}

/// One of them, with all the events of it.
#[derive(Debug, Clone, Copy)]
pub struct Offence {
    pub count: u64,
    /// One of the stacks, and its thread.
    pub stack: StackId,
    pub thread: ThreadId,
}

/// How a stack stands, from its root to one of its nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    refuted: Option<(Refutation, Against)>,
    explained: bool,
    unjudged: bool,
    /// Frames are lacking in it, so its own calls are none.
    holed: bool,
}

/// What became of the events of a kind.
#[derive(Debug, Clone, Default)]
pub struct KindTally {
    pub fates: ByFate<u64>,
    /// Of the plausible ones, those with an edge that could not be judged.
    pub unjudged: u64,
    /// Those whose recorder says that outer frames are lacking: at its limit, or because the walk
    /// ended.
    pub cut: u64,
    pub broken: u64,
}

/// What became of the events of a thread that have one stack.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub fate: Fate,
    /// Which of the offences refutes it.
    pub offence: Option<usize>,
}

/// What became of everything.
#[derive(Debug, Default)]
pub struct Verdicts {
    pub kinds: HashMap<KindId, KindTally>,
    pub threads: HashMap<ThreadId, ByFate<u64>>,
    pub offences: IndexMap<(Refutation, Against), Offence>,
    pub outcomes: HashMap<(ThreadId, StackId), Outcome>,
    pub refuted: BTreeMap<&'static str, u64>,
    /// By the recorder's own words: why there is no stack, and why one ends too early.
    pub unwalked: BTreeMap<String, u64>,
    pub broken: BTreeMap<String, u64>,
    /// How often an edge stood in a stack, and how often one that could not be judged, by why.
    pub checked: u64,
    pub unjudged: BTreeMap<&'static str, u64>,
    /// What is to be said of each.
    pub edges: HashMap<Edge, Judged>,
    /// Those that could not be judged, by the caller.
    pub unjudged_callers: HashMap<MethodId, u64>,
    /// The leaves of stacks that nothing speaks against, and of which nothing is lacking.
    pub whole: Vec<NodeId>,
}

/// Judges all of a recording. `launchers`: what the thread is called that the `java` command runs
/// `main` on, which has one beginning.
pub fn judge(seen: &Seen, judge: &mut Judge<'_>, launchers: &[&str]) -> Verdicts {
    let nodes = stand(seen, judge);
    let mut roots = Roots::learn(seen, judge, launchers);
    let mut verdicts = Verdicts::default();
    // A map has no order of its own.
    let mut counts: Vec<_> = seen.counts.iter().map(|(key, count)| (*key, *count)).collect();
    counts.sort_unstable();
    for ((kind, thread, stack), count) in counts {
        let Stack { leaf, end } = seen.stacks[stack.row()];
        let mut standing = leaf.map_or_else(Standing::default, |leaf| nodes[leaf.row()]);
        if let Some(leaf) = leaf {
            let place = seen.node(leaf).place;
            standing = standing.and(judge.leaf(seen, place), Against::Leaf(place));
        }
        if let (Some(leaf), End::Whole) = (leaf, end) {
            let (method, verdict) = roots.verdict(seen, judge, thread, leaf);
            standing = standing.and(verdict, Against::Root(method));
        }
        let fate = Verdicts::fate(standing, end);
        verdicts.count(seen, (kind, thread, stack), (standing, fate, end), count);
    }
    verdicts.whole = whole(seen, &nodes);
    verdicts.weigh(seen, judge);
    verdicts
}

/// How each node stands, with all above it.
fn stand(seen: &Seen, judge: &Judge<'_>) -> Vec<Standing> {
    let mut nodes: Vec<Standing> = Vec::with_capacity(seen.nodes.len());
    for node in &seen.nodes {
        let mut standing = node.above.map_or_else(Standing::default, |above| nodes[above.row()]);
        standing.holed |= node.gap || node.filtered;
        let standing = match judge.edge(seen, *node) {
            Some(((caller, callee), judged)) => standing.and(judged, Against::Edge { caller, callee }),
            None => standing,
        };
        nodes.push(standing);
    }
    nodes
}

fn whole(seen: &Seen, nodes: &[Standing]) -> Vec<NodeId> {
    let stacks = seen.stacks.iter().filter(|stack| stack.end == End::Whole).filter_map(|stack| stack.leaf);
    let stands = |standing: &Standing| standing.refuted.is_none() && !standing.holed;
    stacks.filter(|leaf| stands(&nodes[leaf.row()])).collect()
}

impl Standing {
    fn and(mut self, judged: Judged, against: Against) -> Self {
        match judged {
            Ok(Verdict::Proven) => {}
            Ok(Verdict::Explained(Explanation::Unread)) | Err(_) => self.unjudged = true,
            Ok(Verdict::Explained(_)) => self.explained = true,
            Ok(Verdict::Refuted(kind)) => drop(self.refuted.get_or_insert((kind, against))),
        }
        self
    }
}

impl Verdicts {
    fn fate(standing: Standing, end: End) -> Fate {
        match (end, standing) {
            (End::Outside, _) => Fate::Outside,
            (End::None(_), _) => Fate::Unwalked,
            (_, Standing { refuted: Some(_), .. }) => Fate::Refuted,
            (End::Whole, Standing { explained: false, unjudged: false, .. }) => Fate::Proven,
            _ => Fate::Plausible,
        }
    }

    fn count(
        &mut self,
        seen: &Seen,
        (kind, thread, stack): (KindId, ThreadId, StackId),
        (standing, fate, end): (Standing, Fate, End),
        count: u64,
    ) {
        let tally = self.kinds.entry(kind).or_default();
        add(tally.fates.of(fate), count);
        add(self.threads.entry(thread).or_default().of(fate), count);
        if fate == Fate::Plausible && standing.unjudged {
            add(&mut tally.unjudged, count);
        }
        match end {
            End::Cut => add(&mut tally.cut, count),
            End::Broken(why) => {
                add(&mut tally.broken, count);
                add(self.broken.entry(seen.reasons[why.row()].clone()).or_default(), count);
            }
            End::None(why) => add(self.unwalked.entry(seen.reasons[why.row()].clone()).or_default(), count),
            End::Whole | End::Outside => {}
        }
        let offence = standing.refuted.filter(|_| fate == Fate::Refuted).map(|offence| {
            add(self.refuted.entry(offence.0.name()).or_default(), count);
            let offence = self.offences.entry(offence);
            let number = offence.index();
            add(&mut offence.or_insert(Offence { count: 0, stack, thread }).count, count);
            number
        });
        self.outcomes.insert((thread, stack), Outcome { fate, offence });
    }

    /// Counts each edge as often as stacks go through it, and each that is distinct once.
    fn weigh(&mut self, seen: &Seen, judge: &Judge<'_>) {
        for (node, weight) in seen.nodes.iter().zip(seen.weights()) {
            let Some((edge, judged)) = judge.edge(seen, *node) else { continue };
            add(&mut self.checked, weight);
            self.edges.entry(edge).and_modify(|known| *known = worse(*known, judged)).or_insert(judged);
            if let Err(why) = judged {
                add(self.unjudged.entry(why.name()).or_default(), weight);
                add(self.unjudged_callers.entry(seen.place(edge.0).method).or_default(), weight);
            }
        }
    }
}

/// An edge that is refuted in one stack is: in another one frames may have been left out.
fn worse(one: Judged, other: Judged) -> Judged {
    if matches!(other, Ok(Verdict::Refuted(_))) { other } else { one }
}

/// Where the threads began, as their stacks tell: who has once ended in a thread's `run` always
/// does.
#[derive(Debug)]
struct Roots {
    began: HashMap<ThreadId, Began>,
    verdicts: HashMap<(ThreadId, MethodId), Judged>,
    /// The outermost place, by node.
    outermost: Vec<PlaceId>,
}

impl Roots {
    fn learn(seen: &Seen, judge: &mut Judge<'_>, launchers: &[&str]) -> Self {
        let mut roots: Vec<PlaceId> = Vec::with_capacity(seen.nodes.len());
        for node in &seen.nodes {
            let root = node.above.map_or(node.place, |above| roots[above.row()]);
            roots.push(root);
        }
        let mut learned = Self { began: HashMap::new(), verdicts: HashMap::new(), outermost: roots };
        for (_, thread, stack) in seen.counts.keys() {
            let Stack { leaf: Some(leaf), end: End::Whole } = seen.stacks[stack.row()] else { continue };
            let of = &seen.threads[thread.row()];
            // A native program that has made its JVM by itself calls from its first thread what it
            // likes.
            let main = launchers.contains(&&*of.name);
            let method = seen.place(learned.outermost[leaf.row()]).method;
            let began =
                learned.began.entry(*thread).or_insert(if main { Began::Main } else { Began::Attached });
            // Threads that the recording does not tell apart are not one.
            if of.number != 0
                && *began == Began::Attached
                && verdict(judge, method, Began::Started) == Verdict::Proven
            {
                *began = Began::Started;
            }
        }
        learned
    }

    fn verdict(
        &mut self,
        seen: &Seen,
        judge: &mut Judge<'_>,
        thread: ThreadId,
        leaf: NodeId,
    ) -> (MethodId, Judged) {
        let method = seen.place(self.outermost[leaf.row()]).method;
        if seen.method(method).descriptor.is_empty() {
            return (method, Err(Unjudged::Overload));
        }
        let began = self.began.get(&thread).copied().unwrap_or(Began::Attached);
        (method, *self.verdicts.entry((thread, method)).or_insert_with(|| Ok(verdict(judge, method, began))))
    }
}

/// A class that nobody knows may be a thread.
fn verdict(judge: &mut Judge<'_>, method: MethodId, began: Began) -> Verdict {
    let class = judge.method(method).class.clone();
    let is_thread = judge.is_thread(&class.name).unwrap_or(true);
    root(judge.method(method), began, || is_thread)
}
