//! Walks beside the JVM's own accounts of them: some of those that agreed, drawn by chance, for
//! measuring what a witness would notice. It must never keep more than a few.

use fastrand::Rng;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_verify::proof::KnownFrame;

use super::tree::NodeId;
use crate::jvm::Jvm;
use crate::witness::Account;

/// How many are kept, of at most so many frames each.
const KEPT: usize = 200;
const FRAMES: usize = 2_048;

/// The pairs that are kept.
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
    /// Takes a walk in, by its place in the tree, whose account agreed. Each has the same chance to
    /// be kept, but for those that agree by their methods' names alone.
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

    /// The walks' places.
    pub fn leaves(&self) -> Vec<NodeId> {
        self.kept.iter().map(|(leaf, _)| *leaf).collect()
    }

    /// True if the account of this pair speaks against a walk.
    pub fn refutes(&self, pair: usize, walk: &[KnownFrame<'_>]) -> bool {
        let walk: Vec<Frame> = walk.iter().map(|known| plain(known.frame)).collect();
        self.kept[pair].1.refutes(&walk)
    }
}

/// The account with what its ids mean in the place of the ids, as walks are kept.
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
