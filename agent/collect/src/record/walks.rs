//! Checks walks against the bytecode. Each distinct walk is checked once, and only the edges that
//! no earlier walk has shown.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};
use vouch_recording::{Category, FRAMES_LEFT_OUT, Recording};
use vouch_report::{Power, WitnessPower};
use vouch_sample::{Cut, ResolvedFrame, ResolvedMethod, Stack};
use vouch_verify::proof::{Corruption, FrameWithMethod, KnownFrame, PowerCounts, Verdict, edge, power};
use xxhash_rust::xxh3::xxh3_128;

use super::names::Names;
use super::reasons::Reasons;
use super::refutations::{Against, Refutations};
use super::stack_budget::StackBudget;
use super::tree::{Node, NodeId, Standing, Tree};
use super::witnessed_stacks::WitnessedStacks;
use crate::jvm::Jvm;
use crate::prove::Prover;
use crate::prove::roots::Roots;
use crate::threads::Threads;

/// The maximum number of edges of the stacks that measure the power of proof. Deeper stacks are
/// used only if there are no others.
const SHALLOW: u32 = 1_000;
/// The number of frames that a cached step through the tree covers. Most stacks have fewer, and
/// need no steps.
const STEP: usize = 256;
/// The number of corruptions of each kind that measure the power of proof.
const TRIALS: u32 = 2_000;
/// The maximum number of frames that are cached while the power of proof is measured. Most stacks
/// are drawn repeatedly, so reading them from the tree each time is slow.
const MAX_CACHED_FRAMES: usize = 100_000;

/// A walk's node in the tree, and the verdict on it that holds for any thread.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// The node of the walk's innermost frame. `None` if the walk has no frames.
    pub leaf: Option<NodeId>,
    /// The root frame of the walk. `None` if it was cut off or the walk has no frames.
    root: Option<ResolvedFrame>,
    /// The verdict on the walk. It covers the leaf's own bci, but not the root, which depends on
    /// the thread.
    pub standing: Standing,
}

/// All distinct walks of a recording, with their verdicts.
#[derive(Debug)]
pub struct Walks {
    pub budget: StackBudget,
    /// The placeholder nodes for missing frames, by parent node.
    cuts: HashMap<Option<NodeId>, NodeId>,
    /// The nodes that a step of `STEP` frames leads to, by parent node and hash of the frames.
    steps: HashMap<(Option<NodeId>, u128), NodeId>,
    /// The frames and nodes of the last walk with fewer than `STEP` frames, root first. The next
    /// walk often has the same outer frames.
    last: Vec<(ResolvedFrame, NodeId)>,
    pub tree: Tree,
    /// The walks seen so far, by the hash of their frames.
    known: HashMap<u128, Placed>,
    pub prover: Prover,
    pub roots: Roots,
    pub refutations: Refutations,
    pub witnessed_stacks: WitnessedStacks,
    /// The number of edges in the stacks of all samples, repeated ones included.
    checked: u64,
    words: Vec<u8>,
}

impl Walks {
    pub fn new(depth: usize, threads: &'static dyn Threads) -> Self {
        Self {
            budget: StackBudget::new(depth),
            cuts: HashMap::new(),
            steps: HashMap::new(),
            last: Vec::new(),
            tree: Tree::default(),
            known: HashMap::new(),
            prover: Prover::default(),
            roots: Roots::new(threads),
            refutations: Refutations::default(),
            witnessed_stacks: WitnessedStacks::default(),
            checked: 0,
            words: Vec::new(),
        }
    }

    /// Returns the number of edges in the stacks of all samples, repeated ones included.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Adds a walk to the tree, or finds it there. `time` is in nanoseconds. If the stack budget is
    /// exhausted the middle of the walk is left out.
    pub fn place(
        &mut self,
        walk: Stack<'_, ResolvedMethod>,
        time: u64,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> Placed {
        self.find_known_walk(walk).unwrap_or_else(|hash| {
            let kept = self.budget.frames_to_keep(walk.frames.len(), self.nodes(recording), time);
            if walk.frames.len() <= kept {
                return self.look(walk, hash, recording, names, jvm);
            }
            let mut frames = Vec::with_capacity(kept);
            let cut = Some(shorten(walk, kept, &mut frames));
            let walk = Stack { frames: &frames, cut };
            self.find_known_walk(walk).unwrap_or_else(|hash| self.look(walk, hash, recording, names, jvm))
        })
    }

    /// Returns how much of their budget the stacks use: tree nodes or recording rows, whichever are
    /// more.
    pub fn nodes(&self, recording: &Recording) -> usize {
        self.tree.nodes().max(recording.stacks().rows().len())
    }

    /// Counts the edges of a sample's stack as checked.
    pub fn count_edges(&mut self, placed: Placed) {
        self.checked += placed.leaf.map_or(0, |leaf| u64::from(self.tree.get(leaf).depth));
    }

    /// Looks a walk up among the known ones. If it is new, returns the hash to store it under.
    fn find_known_walk(&mut self, walk: Stack<'_, ResolvedMethod>) -> Result<Placed, u128> {
        self.words.clear();
        if let Some(cut) = walk.cut {
            // A cut stack differs from a whole stack with the same frames. The number of missing
            // frames makes no difference.
            self.words.extend_from_slice(&cut.at.to_le_bytes());
        }
        let hash = hash(walk.frames, &mut self.words);
        self.known.get(&hash).copied().ok_or(hash)
    }

    fn look(
        &mut self,
        walk: Stack<'_, ResolvedMethod>,
        hash: u128,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> Placed {
        let mut node = None;
        if walk.cut.is_some() {
            node = self.down(node, walk.outer(), recording, names, jvm);
            node = Some(self.missing_frames_node(node, recording));
        }
        node = self.down(node, walk.inner(), recording, names, jvm);
        let standing = match (node, walk.frames.first()) {
            (Some(node), Some(leaf)) => {
                let verdict = self.prover.leaf(*leaf, jvm);
                self.and(self.tree.get(node).standing, verdict, Against::Leaf(*leaf))
            }
            _ => Standing::Explained(Reasons::CUT),
        };
        let placed = Placed { leaf: node, root: walk.root(), standing };
        self.known.insert(hash, placed);
        placed
    }

    /// Follows the frames of a walk down the tree from the outermost one, adds the missing nodes,
    /// and returns the leaf's node. It skips the outer frames that the last walk had as well, and
    /// long runs of frames that deep stacks share.
    fn down(
        &mut self,
        mut node: Option<NodeId>,
        frames: &[ResolvedFrame],
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> Option<NodeId> {
        let is_short = node.is_none() && frames.len() < STEP;
        let mut found = 0;
        if is_short {
            let same = |((known, _), frame): &(&(ResolvedFrame, NodeId), &ResolvedFrame)| known == *frame;
            found = self.last.iter().zip(frames.iter().rev()).take_while(same).count();
            self.last.truncate(found);
            node = self.last.last().map(|(_, node)| *node);
        }
        for block in frames[..frames.len() - found].rchunks(STEP) {
            self.words.clear();
            let step = (block.len() == STEP).then(|| (node, hash(block, &mut self.words)));
            if let Some(known) = step.and_then(|step| self.steps.get(&step)) {
                node = Some(*known);
                continue;
            }
            for frame in block.iter().rev() {
                let known = self.tree.child(node, *frame);
                let reached = known.unwrap_or_else(|| self.add(node, *frame, recording, names, jvm));
                node = Some(reached);
                if is_short {
                    self.last.push((*frame, reached));
                }
            }
            if let (Some(step), Some(node)) = (step, node) {
                self.steps.insert(step, node);
            }
        }
        node
    }

    /// Returns the placeholder node for missing frames under this parent.
    fn missing_frames_node(&mut self, parent: Option<NodeId>, recording: &mut Recording) -> NodeId {
        let Self { tree, cuts, .. } = self;
        *cuts.entry(parent).or_insert_with(|| {
            let above = parent.map(|parent| tree.get(parent));
            let stack =
                recording.placeholder_stack(above.map(|above| above.stack), FRAMES_LEFT_OUT, Category::Other);
            let standing = match above.map(|above| above.standing) {
                Some(refuted @ Standing::Refuted(_)) => refuted,
                Some(Standing::Explained(reasons)) => Standing::Explained(reasons.and(Reasons::CUT)),
                Some(Standing::Proven) | None => Standing::Explained(Reasons::CUT),
            };
            let depth = above.map_or(0, |above| above.depth);
            tree.add(Node { parent, frame: None, stack, standing, depth, cut: true })
        })
    }

    fn add(
        &mut self,
        parent: Option<NodeId>,
        frame: ResolvedFrame,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> NodeId {
        let above = parent.map(|parent| self.tree.get(parent));
        let caller = above.and_then(|above| above.frame).filter(|caller| caller.is_judged_caller_of(frame));
        let id = self.tree.intern(frame);
        // The frame needs a name whether or not it is proven.
        let recorded = self.tree.recorded(id).unwrap_or_else(|| {
            let (func, line) = names.func(recording, frame, jvm);
            let recorded = recording.frame(func, line);
            if names.is_named(frame) {
                self.tree.set_recorded(id, recorded);
            }
            recorded
        });
        let verdict = caller.map(|caller| self.prover.edge(caller, frame.method(), jvm));
        let standing = match (above, verdict, caller) {
            (Some(above), Some(verdict), Some(caller)) => {
                self.and(above.standing, verdict, Against::Edge { caller, callee: frame.method() })
            }
            (Some(above), ..) => above.standing,
            (None, ..) => Standing::Proven,
        };
        let stack = recording.stack(above.map(|above| above.stack), recorded);
        let depth = above.map_or(0, |above| above.depth) + u32::from(caller.is_some());
        let cut = above.is_some_and(|above| above.cut);
        self.tree.add(Node { parent, frame: Some(frame), stack, standing, depth, cut })
    }

    fn and(&mut self, standing: Standing, verdict: Verdict, against: Against) -> Standing {
        match (standing, verdict) {
            (Standing::Refuted(_), _) | (_, Verdict::Proven) => standing,
            (_, Verdict::Refuted(kind)) => Standing::Refuted(self.refutations.id(kind, against)),
            (Standing::Explained(reasons), Verdict::Explained(explanation)) => {
                Standing::Explained(reasons.and(Reasons::explained(explanation)))
            }
            (Standing::Proven, Verdict::Explained(explanation)) => {
                Standing::Explained(Reasons::explained(explanation))
            }
        }
    }

    /// Returns true if proof refutes a walk. `against` selects the verdicts that count as a
    /// refutation. The walk is only a candidate, so it must leave no trace in the tree or the
    /// recording.
    pub fn refutes(
        &mut self,
        walk: Stack<'_, ResolvedMethod>,
        serial: u32,
        against: fn(Verdict) -> bool,
        jvm: &mut dyn Jvm,
        witness: Option<impl FnOnce(&mut dyn Jvm) -> Option<ResolvedMethod>>,
    ) -> bool {
        let known = self.find_known_walk(walk);
        let Self { prover, roots, .. } = self;
        let by_edges = match known {
            Ok(placed) => matches!(placed.standing, Standing::Refuted(_)),
            Err(_) => {
                walk.frames.first().is_some_and(|leaf| against(prover.leaf(*leaf, jvm)))
                    || walk.edges().any(|call| against(prover.guess(call.caller, call.callee.method(), jvm)))
            }
        };
        if by_edges {
            return true;
        }
        walk.root()
            .is_some_and(|root| roots.verdict(serial, root.method(), prover, jvm, witness).is_refuted())
    }

    /// Returns the verdict on a walk as a stack of this thread. In contrast to the stored verdict,
    /// it covers the root, which depends on the thread.
    pub fn judge(
        &mut self,
        placed: Placed,
        serial: u32,
        jvm: &mut dyn Jvm,
        witness: Option<impl FnOnce(&mut dyn Jvm) -> Option<ResolvedMethod>>,
    ) -> Standing {
        let Some(root) = placed.root.filter(|_| !matches!(placed.standing, Standing::Refuted(_))) else {
            return placed.standing;
        };
        let verdict = self.roots.verdict(serial, root.method(), &mut self.prover, jvm, witness);
        self.and(placed.standing, verdict, Against::Root(root))
    }

    /// Measures how many corruptions proof notices, by name of the corruption. It corrupts stacks
    /// that proof did not refute.
    pub fn power(&self, jvm: &mut dyn Jvm) -> BTreeMap<String, Power> {
        let mut stacks: Vec<NodeId> = self
            .known
            .values()
            .filter(|placed| !matches!(placed.standing, Standing::Refuted(_)))
            .filter_map(|placed| placed.leaf)
            .filter(|leaf| !self.tree.get(*leaf).cut)
            .collect();
        // A corruption is as hard to notice in any other stack. Only few of the deepest stacks
        // could be checked in the same time.
        let is_shallow = |leaf: &NodeId| self.tree.get(*leaf).depth <= SHALLOW;
        if stacks.iter().any(is_shallow) {
            stacks.retain(is_shallow);
        }
        // The map's iteration order is not deterministic.
        stacks.sort_unstable();
        let noticed = self.noticed(&stacks, jvm, |_, _| false);
        noticed.map(|(name, it)| (name, Power { tried: it.tried, noticed: it.by_proof })).collect()
    }

    /// Measures how many corruptions proof, the witness or either of them notices. It corrupts
    /// stacks that agreed with their witness.
    pub fn witness_power(&self, jvm: &mut dyn Jvm) -> BTreeMap<String, WitnessPower> {
        let stacks = self.witnessed_stacks.leaves();
        let noticed = self.noticed(&stacks, jvm, |pair, walk| self.witnessed_stacks.refutes(pair, walk));
        noticed
            .map(|(name, PowerCounts { tried, by_proof, by_witness, by_either })| {
                (name, WitnessPower { tried, by_proof, by_witness, by_either })
            })
            .collect()
    }

    fn noticed(
        &self,
        stacks: &[NodeId],
        jvm: &mut dyn Jvm,
        witness: impl Fn(usize, &[KnownFrame<'_>]) -> bool,
    ) -> impl Iterator<Item = (String, PowerCounts)> {
        let stack = |place: usize| -> Vec<KnownFrame<'_>> {
            // No stack here was cut, so every node has a frame.
            let frames = self.tree.frames(stacks[place]).flatten();
            frames.map(|frame| KnownFrame { frame, method: self.prover.known(frame.method()) }).collect()
        };
        let (mut cached, mut frames_left) = (vec![None; stacks.len()], MAX_CACHED_FRAMES);
        let mut stack = move |place: usize| -> Vec<KnownFrame<'_>> {
            if let Some(found) = &cached[place] {
                return Vec::clone(found);
            }
            let found = stack(place);
            if let Some(left) = frames_left.checked_sub(found.len()) {
                (frames_left, cached[place]) = (left, Some(found.clone()));
            }
            found
        };
        Corruption::ALL.into_iter().map(move |corruption| {
            let refutes = |(at, caller): FrameWithMethod<'_>, (frame, callee): FrameWithMethod<'_>| {
                let relation = |named: &str| self.prover.relation(at.method(), named, frame.method(), jvm);
                edge(caller, at.bci(), callee, relation).is_refuted()
            };
            let noticed = power(corruption, TRIALS, stacks.len(), &mut stack, refutes, &witness);
            (corruption.name().to_owned(), noticed)
        })
    }
}

/// Hashes frames, after the bytes that `words` already contains. With 128 bits a collision within
/// one recording is practically impossible.
fn hash(frames: &[ResolvedFrame], words: &mut Vec<u8>) -> u128 {
    for frame in frames {
        let (tag, word) = frame.to_words();
        words.extend_from_slice(&tag.to_le_bytes());
        words.extend_from_slice(&word.to_le_bytes());
    }
    xxh3_128(words)
}

/// Copies `kept` frames of a longer stack, from both ends. If the root is unknown it copies from
/// the leaf only.
fn shorten(walk: Stack<'_, ResolvedMethod>, kept: usize, frames: &mut Vec<ResolvedFrame>) -> Cut {
    let has_root = walk.root().is_some();
    let (inner, outer) = if has_root { (kept.div_ceil(2), kept / 2) } else { (kept, 0) };
    let end = if walk.cut.is_some() { walk.outer() } else { walk.frames };
    frames.extend(walk.inner().iter().take(inner));
    let at = frames.len();
    frames.extend(&end[end.len().saturating_sub(outer)..]);
    let short = |count| u32::try_from(count).unwrap_or(u32::MAX);
    let lacking =
        walk.cut.map_or(0, |cut| cut.missing).saturating_add(short(walk.frames.len() - frames.len()));
    Cut { at: short(at), missing: if has_root { lacking } else { 0 } }
}
