//! Walks, held against the bytecode: each distinct one is looked at once, and of it only what no other walk has shown.

use std::collections::{BTreeMap, HashMap};

use vouch_proof::{Corruption, Known, Noticed, Verdict, power};
use vouch_recording::{Category, Fate, Recording};
use vouch_report::{Power, WitnessPower};
use vouch_sample::{Meaning, Meant};
use xxhash_rust::xxh3::xxh3_128;

use super::names::{Names, stand_in};
use super::offences::{Against, Offences};
use super::pairs::Pairs;
use super::room::Room;
use super::tree::{Node, NodeId, Standing, Tree};
use crate::jvm::Jvm;
use crate::prove::{Prover, Roots};
use crate::threads::Registry;

/// How many corruptions of each kind are made to measure the power of proof.
const TRIALS: u32 = 2_000;

/// A walk in its place in the tree, with what is known of it whichever thread it is of.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// None: a walk without frames.
    pub leaf: Option<NodeId>,
    /// None: it was cut off, or there is none.
    root: Option<Meant>,
    /// With the leaf's own bci, and without the root.
    pub standing: Standing,
}

/// All distinct walks.
#[derive(Debug)]
pub struct Walks {
    pub room: Room,
    /// The nodes under which the stacks hang that were cut at so many frames.
    cuts: HashMap<usize, NodeId>,
    pub tree: Tree,
    /// By the hash of their frames.
    known: HashMap<u128, Placed>,
    pub prover: Prover,
    roots: Roots,
    pub offences: Offences,
    pub pairs: Pairs,
    /// Edges in all stacks that were looked at.
    checked: u64,
    words: Vec<u8>,
}

impl Walks {
    pub fn new(depth: usize, registry: &'static Registry) -> Self {
        Self {
            room: Room::new(depth),
            cuts: HashMap::new(),
            tree: Tree::default(),
            known: HashMap::new(),
            prover: Prover::default(),
            roots: Roots::new(registry),
            offences: Offences::default(),
            pairs: Pairs::default(),
            checked: 0,
            words: Vec::new(),
        }
    }

    /// How many edges stood in the stacks of all samples.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Takes a walk in, leaf first. One frame more than are kept, which are `most` at most, says that it was cut.
    pub fn place(
        &mut self,
        walk: &[Meant],
        most: usize,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> Placed {
        let most = self.room.depth().min(most);
        self.recall(walk, most).unwrap_or_else(|hash| {
            let kept = self.room.kept(walk.len(), self.nodes(recording)).min(most);
            if kept == most {
                return self.look(walk, kept, hash, recording, names, jvm);
            }
            let walk = &walk[..walk.len().min(kept + 1)];
            let known = self.recall(walk, kept);
            known.unwrap_or_else(|hash| self.look(walk, kept, hash, recording, names, jvm))
        })
    }

    /// What the stacks take of their room.
    pub fn nodes(&self, recording: &Recording) -> usize {
        self.tree.nodes().max(recording.stacks().rows().len())
    }

    /// A sample's stack is one that was looked at.
    pub fn count_edges(&mut self, placed: Placed) {
        self.checked += placed.leaf.map_or(0, |leaf| u64::from(self.tree.get(leaf).depth));
    }

    /// What is known of a walk of which so many frames are kept, or the hash by which that is to be remembered.
    fn recall(&mut self, walk: &[Meant], kept: usize) -> Result<Placed, u128> {
        self.words.clear();
        if walk.len() > kept {
            // It is not the same as a whole one with the same frames.
            self.words.extend_from_slice(&kept.to_le_bytes());
        }
        for frame in walk.iter().take(kept) {
            self.words.extend_from_slice(&frame.bci().to_le_bytes());
            self.words.extend_from_slice(&frame.method().0.to_le_bytes());
        }
        // At 128 bits two stacks of one recording do not meet by chance.
        let hash = xxh3_128(&self.words);
        self.known.get(&hash).copied().ok_or(hash)
    }

    fn look(
        &mut self,
        walk: &[Meant],
        kept: usize,
        hash: u128,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> Placed {
        let frames = &walk[..walk.len().min(kept)];
        let mut parent = (walk.len() > kept).then(|| self.cut_off(kept, recording));
        for frame in frames.iter().rev() {
            let known = self.tree.child(parent, *frame);
            parent = Some(known.unwrap_or_else(|| self.add(parent, *frame, recording, names, jvm)));
        }
        let standing = match (parent, frames.first()) {
            (Some(node), Some(leaf)) => {
                let verdict = self.prover.leaf(*leaf, jvm);
                self.and(self.tree.get(node).standing, verdict, Against::Leaf(*leaf))
            }
            _ => Standing::Explained,
        };
        let whole = walk.len() <= kept;
        let placed = Placed { leaf: parent, root: frames.last().copied().filter(|_| whole), standing };
        self.known.insert(hash, placed);
        placed
    }

    /// The node under which the stacks hang of which so many frames are kept.
    fn cut_off(&mut self, kept: usize, recording: &mut Recording) -> NodeId {
        let Self { tree, cuts, .. } = self;
        *cuts.entry(kept).or_insert_with(|| {
            let stack = stand_in(recording, &format!("[cut at {kept} frames]"), Category::Other);
            let standing = Standing::Explained;
            tree.add(Node { parent: None, frame: None, stack, standing, depth: 0, cut: true })
        })
    }

    fn add(
        &mut self,
        parent: Option<NodeId>,
        frame: Meant,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> NodeId {
        let above = parent.map(|parent| *self.tree.get(parent));
        let caller = above.and_then(|above| above.frame);
        // Naming comes first: a frame is named whether or not it is proven.
        let (func, line) = names.func(recording, frame, jvm);
        let verdict = caller.map(|caller| self.prover.edge(caller, frame.method(), jvm));
        let standing = match (above, verdict, caller) {
            (Some(above), Some(verdict), Some(caller)) => {
                self.and(above.standing, verdict, Against::Edge { caller, callee: frame.method() })
            }
            (Some(above), ..) => above.standing,
            (None, ..) => Standing::Proven,
        };
        let interned = recording.frame(func, line);
        let stack = recording.stack(above.map(|above| above.stack), interned);
        let depth = above.map_or(0, |above| above.depth) + u32::from(caller.is_some());
        let cut = above.is_some_and(|above| above.cut);
        self.tree.add(Node { parent, frame: Some(frame), stack, standing, depth, cut })
    }

    fn and(&mut self, standing: Standing, verdict: Verdict, against: Against) -> Standing {
        match (standing, verdict) {
            (Standing::Refuted(_), _) => standing,
            (_, Verdict::Refuted(kind)) => Standing::Refuted(self.offences.id(kind, against)),
            (Standing::Explained, _) | (_, Verdict::Explained(_)) => Standing::Explained,
            (Standing::Proven, Verdict::Proven) => Standing::Proven,
        }
    }

    /// True if proof speaks against a walk, which verdicts of this kind do. That walk is nobody's stack, and leaves no trace.
    pub fn refutes(
        &mut self,
        walk: &[Meant],
        serial: u32,
        against: fn(Verdict) -> bool,
        jvm: &mut dyn Jvm,
        witness: impl FnOnce(&mut dyn Jvm) -> Option<Meaning>,
    ) -> bool {
        let kept = self.room.depth();
        let frames = &walk[..walk.len().min(kept)];
        let known = self.recall(walk, kept);
        let Self { prover, roots, .. } = self;
        let by_edges = match known {
            Ok(placed) => matches!(placed.standing, Standing::Refuted(_)),
            Err(_) => {
                frames.first().is_some_and(|leaf| against(prover.leaf(*leaf, jvm)))
                    || frames.windows(2).any(|pair| against(prover.guess(pair[1], pair[0].method(), jvm)))
            }
        };
        if by_edges {
            return true;
        }
        let root = frames.last().filter(|_| walk.len() <= kept);
        root.is_some_and(|root| roots.verdict(serial, root.method(), prover, jvm, witness).is_refuted())
    }

    /// What a walk is worth as a stack of this thread: with its root.
    pub fn judge(
        &mut self,
        placed: Placed,
        serial: u32,
        jvm: &mut dyn Jvm,
        witness: impl FnOnce(&mut dyn Jvm) -> Option<Meaning>,
    ) -> Standing {
        let Some(root) = placed.root.filter(|_| !matches!(placed.standing, Standing::Refuted(_))) else {
            return placed.standing;
        };
        let verdict = self.roots.verdict(serial, root.method(), &mut self.prover, jvm, witness);
        self.and(placed.standing, verdict, Against::Root(root))
    }

    /// How much of what is wrong proof would notice, measured on the stacks that it let pass.
    pub fn power(&self, jvm: &mut dyn Jvm) -> BTreeMap<String, Power> {
        let mut stacks: Vec<NodeId> = self
            .known
            .values()
            .filter(|placed| !matches!(placed.standing, Standing::Refuted(_)))
            .filter_map(|placed| placed.leaf)
            .filter(|leaf| !self.tree.get(*leaf).cut)
            .collect();
        // A map has no order of its own.
        stacks.sort_unstable();
        let noticed = self.noticed(&stacks, jvm, |_, _| false);
        noticed.map(|(name, it)| (name, Power { tried: it.tried, noticed: it.by_proof })).collect()
    }

    /// The same for those that have a witness: what of it either notices.
    pub fn witness_power(&self, jvm: &mut dyn Jvm) -> BTreeMap<String, WitnessPower> {
        let stacks = self.pairs.leaves();
        let noticed = self.noticed(&stacks, jvm, |pair, walk| self.pairs.refutes(pair, walk));
        noticed
            .map(|(name, Noticed { tried, by_proof, by_witness, by_either })| {
                (name, WitnessPower { tried, by_proof, by_witness, by_either })
            })
            .collect()
    }

    fn noticed(
        &self,
        stacks: &[NodeId],
        jvm: &mut dyn Jvm,
        witness: impl Fn(usize, &[Known<'_>]) -> bool,
    ) -> impl Iterator<Item = (String, Noticed)> {
        let stack = |place: usize| -> Vec<Known<'_>> {
            let frames = self.tree.frames(stacks[place]);
            frames.map(|frame| Known { frame, method: self.prover.known(frame.method()) }).collect()
        };
        Corruption::ALL.into_iter().map(move |corruption| {
            let relation = |caller: Known<'_>, named: &str, callee: Known<'_>| {
                self.prover.relation(caller.frame.method(), named, callee.frame.method(), jvm)
            };
            let noticed = power(corruption, TRIALS, stacks.len(), stack, relation, &witness);
            (corruption.name().to_owned(), noticed)
        })
    }
}

/// The fate of a sample whose stack stands like this.
pub fn fate(standing: Standing) -> Fate {
    match standing {
        Standing::Proven => Fate::Proven,
        Standing::Explained => Fate::Plausible,
        Standing::Refuted(_) => Fate::Refuted,
    }
}
