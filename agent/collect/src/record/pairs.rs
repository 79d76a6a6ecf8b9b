//! Keeps a random sample of walks that agreed with their witnesses, to measure later what a witness
//! notices. Memory must stay bounded by `KEPT` and `FRAMES`.

use fastrand::Rng;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_verify::proof::KnownFrame;

use super::tree::NodeId;
use crate::jvm::Jvm;
use crate::witness::Account;

/// The maximum number of pairs of a walk and its witness that are kept. `FRAMES` is the maximum
/// number of frames of each.
const KEPT: usize = 200;
const FRAMES: usize = 2_048;

/// A random sample (reservoir) of walks and their witnesses' stacks.
#[derive(Debug)]
pub struct Pairs {
    met: usize,
    random: Rng,
    kept: Vec<(NodeId, Account)>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self { met: 0, random: Rng::with_seed(0x7061_6972), kept: Vec::new() }
    }
}

impl Pairs {
    /// Adds a walk that agreed with its witness, by its node. Each pair has the same chance to be
    /// kept, except pairs that agree only by their methods' names.
    pub fn add(&mut self, leaf: NodeId, walk: &[ResolvedFrame], account: &Account, jvm: &mut dyn Jvm) {
        if account.frames.len() > FRAMES {
            return;
        }
        self.met += 1;
        let place = if self.kept.len() < KEPT { self.kept.len() } else { self.random.usize(..self.met) };
        if place >= KEPT {
            return;
        }
        let account = by_meaning(account, jvm);
        let walk: Vec<Frame> = walk.iter().copied().map(plain).collect();
        if account.refutes(&walk) {
            return;
        }
        match self.kept.get_mut(place) {
            Some(kept) => *kept = (leaf, account),
            None => self.kept.push((leaf, account)),
        }
    }

    /// Returns the nodes in the tree of the walks' leaves.
    pub fn leaves(&self) -> Vec<NodeId> {
        self.kept.iter().map(|(leaf, _)| *leaf).collect()
    }

    /// Returns true if the witness of this pair refutes another walk.
    pub fn refutes(&self, pair: usize, walk: &[KnownFrame<'_>]) -> bool {
        let walk: Vec<Frame> = walk.iter().map(|known| plain(known.frame)).collect();
        self.kept[pair].1.refutes(&walk)
    }
}

/// Replaces the method ids in a witness's stack by resolved methods, as in walks.
fn by_meaning(account: &Account, jvm: &mut dyn Jvm) -> Account {
    let mut meant = Vec::with_capacity(account.frames.len());
    jvm.resolve_frames(&account.frames, u64::MAX, &mut meant);
    let top = account.top.map(|top| top.map_method(|id| plain_id(jvm.resolve(id, u64::MAX))));
    Account { frames: meant.into_iter().map(plain).collect(), top, differs: account.differs }
}

fn plain(frame: ResolvedFrame) -> Frame {
    Frame::new(plain_id(frame.method()), frame.bci())
}

fn plain_id(meaning: ResolvedMethod) -> MethodId {
    MethodId(meaning.0)
}
