//! Keeps a random sample of walks that agreed with their witnesses, to measure later what a witness
//! notices. Memory must stay bounded by `KEPT` and `FRAMES`.

use fastrand::Rng;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_verify::proof::KnownFrame;

use super::tree::NodeId;
use crate::jvm::Jvm;
use crate::witness::JvmStack;

/// The maximum number of pairs of a walk and its witness that are kept. `FRAMES` is the maximum
/// number of frames of each.
const KEPT: usize = 200;
const FRAMES: usize = 2_048;

/// A random sample (reservoir) of walks and their witnesses' stacks.
#[derive(Debug)]
pub struct WitnessedStacks {
    seen: usize,
    random: Rng,
    kept: Vec<(NodeId, JvmStack)>,
}

impl Default for WitnessedStacks {
    fn default() -> Self {
        Self { seen: 0, random: Rng::with_seed(0x7061_6972), kept: Vec::new() }
    }
}

impl WitnessedStacks {
    /// Adds a walk that agreed with its witness, by its node. Each pair has the same chance to be
    /// kept, except pairs that agree only by their methods' names.
    pub fn add(&mut self, leaf: NodeId, walk: &[ResolvedFrame], jvm_stack: &JvmStack, jvm: &mut dyn Jvm) {
        if jvm_stack.frames.len() > FRAMES {
            return;
        }
        self.seen += 1;
        let place = if self.kept.len() < KEPT { self.kept.len() } else { self.random.usize(..self.seen) };
        if place >= KEPT {
            return;
        }
        let jvm_stack = with_resolved_methods(jvm_stack, jvm);
        let walk: Vec<Frame> = walk.iter().copied().map(plain).collect();
        if jvm_stack.refutes(&walk) {
            return;
        }
        match self.kept.get_mut(place) {
            Some(kept) => *kept = (leaf, jvm_stack),
            None => self.kept.push((leaf, jvm_stack)),
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
fn with_resolved_methods(jvm_stack: &JvmStack, jvm: &mut dyn Jvm) -> JvmStack {
    let mut resolved = Vec::with_capacity(jvm_stack.frames.len());
    jvm.resolve_frames(&jvm_stack.frames, u64::MAX, &mut resolved);
    let top = jvm_stack.top.map(|top| top.map_method(|id| plain_id(jvm.resolve(id, u64::MAX))));
    JvmStack { frames: resolved.into_iter().map(plain).collect(), top, differs: jvm_stack.differs }
}

fn plain(frame: ResolvedFrame) -> Frame {
    Frame::new(plain_id(frame.method()), frame.bci())
}

fn plain_id(resolved: ResolvedMethod) -> MethodId {
    MethodId(resolved.0)
}
