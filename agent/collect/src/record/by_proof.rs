//! Decides the verdict on a sample's stack: by proof, by the certainty of its top frame, and by its
//! witness. The witness overrides the others.

use vouch_recording::{Category, Certainty, ExecutionMode, Fate, StackId, ThreadId, Trust};
use vouch_sample::{Cut, Head, Stack};

use super::reasons::Reasons;
use super::recovered::{Began, Leaf};
use super::refutations::{Contradiction, Disputed};
use super::show::Judged;
use super::top_frames::TopKnown;
use super::tree::Standing;
use super::walks::Placed;
use super::{Recorder, asking_root};
use crate::jvm::Jvm;
use crate::witness::JvmStack;

/// A walk in the tree, and the verdict on it by proof alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByProof {
    placed: Placed,
    standing: Standing,
    leaf: Leaf,
    /// How certain the top frame of the walk is.
    known: TopKnown,
    /// The cut in the walk, or `None` if no frames are missing.
    cut: Option<Cut>,
}

impl ByProof {
    /// Returns how far the stack can be trusted with this verdict. An uncertain top frame makes a
    /// proven stack plausible.
    fn trust(self, standing: Standing) -> Trust {
        let trust = standing.trust();
        if trust == Trust::Proven && !self.top_reasons().is_empty() { Trust::Plausible } else { trust }
    }

    fn top_reasons(self) -> Reasons {
        Reasons::top(self.leaf, self.known)
    }

    /// Returns the certainty of a stack's top frame, even if the walk did not begin with it.
    fn top_certainty(self) -> Certainty {
        match self.leaf {
            Leaf::Walked => self.known.certainty,
            // The method is known, but not the bci.
            Leaf::PutBack => self.known.certainty.min(Certainty::MethodCertain),
            Leaf::Lost | Leaf::Unsure => Certainty::Approximate,
        }
    }
}

impl Recorder {
    /// Decides the verdict on the current walk by proof alone.
    pub(super) fn judge(
        &mut self,
        head: &Head,
        (began, known): (Began, TopKnown),
        cut: Option<Cut>,
        jvm: &mut dyn Jvm,
    ) -> ByProof {
        let Self { recording, witness, walks, names, resolved, .. } = self;
        let walk = Stack { frames: resolved, cut };
        let placed = walks.place(walk, head.time, recording, names, jvm);
        walks.count_edges(placed);
        let standing = walks.judge(placed, head.serial, jvm, asking_root(witness, head, walk));
        ByProof { placed, standing, leaf: began.leaf(), known, cut }
    }

    /// Decides how far the current walk can be trusted, and returns that with the stack to show.
    pub(super) fn java_stack(
        &mut self,
        head: &Head,
        by_proof: ByProof,
        jvm_stack: Option<JvmStack>,
        track: ThreadId,
        jvm: &mut dyn Jvm,
    ) -> (Trust, StackId) {
        let Self { recording, witness, walks, names, shown, plausible, resolved, native, .. } = self;
        let ByProof { placed, leaf, cut, .. } = by_proof;
        let walk = resolved.as_slice();
        if let Some(jvm_stack) = &jvm_stack {
            let trust = by_proof.trust(by_proof.standing);
            witness.compared(Fate::new(ExecutionMode::Java, trust), jvm_stack);
        }
        let against = match (jvm_stack, placed.leaf) {
            (Some(jvm_stack), _) if jvm_stack.differs => Some(Contradiction::new(&jvm_stack, jvm)),
            (Some(jvm_stack), Some(node)) if !walks.tree.get(node).cut => {
                walks.witnessed_stacks.add(node, walk, &jvm_stack, jvm);
                None
            }
            _ => None,
        };
        // The witness overrides proof.
        let standing = match &against {
            Some(against) => walks.refutations.contradicted(walk, against),
            None => by_proof.standing,
        };
        let refuted = match standing {
            Standing::Refuted(refutation) => {
                let stack = Disputed { walk: Stack { frames: walk, cut }, witness: against.as_ref() };
                let how =
                    walks.refutations.count(refutation, track, stack, recording, &mut walks.prover, jvm);
                Some((refutation, how))
            }
            Standing::Proven | Standing::Explained(_) => None,
        };
        let trust = by_proof.trust(standing);
        if trust == Trust::Plausible {
            let explained = match standing {
                Standing::Explained(reasons) => reasons,
                Standing::Proven | Standing::Refuted(_) => Reasons::default(),
            };
            plausible.add(explained.and(by_proof.top_reasons()), head.weight);
        }
        let lost = leaf == Leaf::Lost;
        let stack = match placed.leaf {
            Some(leaf) => {
                let parts = against.as_ref().and_then(|against| against.parts(walk));
                let refuted = refuted.map(|(refutation, _)| refutation);
                let top_frame = Some(by_proof.top_certainty());
                let leaf_row = vouch_recording::Leaf { trust, top_frame };
                let has_native = !native.is_empty() && refuted.is_none() && !lost;
                if has_native {
                    native.on_top(walks.tree.get(leaf).stack, None, leaf_row, recording)
                } else {
                    let judged = Judged { leaf, lost, shown: leaf_row, refuted, parts };
                    shown.stack(judged, walks, recording, names, jvm)
                }
            }
            None => recording.placeholder_stack(None, "[no frames]", Category::NoStack),
        };
        if let Some((_, how)) = refuted {
            let Head { time: time_ns, weight, .. } = *head;
            recording.refuted(track, vouch_recording::Refuted { time_ns, stack, weight, how });
        }
        (trust, stack)
    }
}
