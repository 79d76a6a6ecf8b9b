//! Chooses how a profile shows a walk. Refuted stacks are shown apart from the others.
//!
//! A refuted stack's frames are separate functions in a separate category. No view may merge them
//! with real ones, from either end of the stack. The time of a refuted sample is never left out.

use foldhash::{HashMap, HashMapExt};
use vouch_recording::{Category, FRAMES_LEFT_OUT, Leaf, Recording, StackId, refuted_root};
use vouch_sample::{Cut, ResolvedFrame, Stack};

use super::names::Names;
use super::tree::{NodeId, RefutationIndex};
use super::walks::Walks;
use crate::choices::Refuted;
use crate::jvm::Jvm;

/// The name of the placeholder for a top frame that the walk lacks.
const LOST_LEAF: &str = "[a method that is being entered or left]";

/// The stacks by which the recording shows walks. The key is the walk's leaf node and how it is
/// shown.
#[derive(Debug)]
pub struct Shown {
    wish: Refuted,
    known: HashMap<(NodeId, As), StackId>,
}

/// A walk with the verdict on it.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    pub leaf: NodeId,
    /// True if the walk lacks the top frame and its method is unknown.
    pub lost: bool,
    /// The state of the samples with this walk.
    pub shown: Leaf,
    /// The refutation of the walk, or `None` if the walk is not refuted.
    pub refuted: Option<RefutationIndex>,
    /// The index, from the leaf, of the outermost frame that the witness lacks.
    pub parts: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum As {
    Stack(Leaf),
    WithoutLeaf(Leaf),
    Refuted(RefutationIndex, Option<usize>),
}

impl Shown {
    pub fn new(wish: Refuted) -> Self {
        Self { wish, known: HashMap::new() }
    }

    /// Returns the stack of the recording that shows a walk.
    pub fn stack(
        &mut self,
        Judged { leaf, lost, shown, refuted, parts }: Judged,
        Walks { tree, refutations, .. }: &Walks,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> StackId {
        let shown_as = match refuted.filter(|_| self.wish != Refuted::Keep) {
            Some(refutation) => As::Refuted(refutation, parts),
            None if lost => As::WithoutLeaf(shown),
            None => As::Stack(shown),
        };
        *self.known.entry((leaf, shown_as)).or_insert_with(|| match shown_as {
            As::Stack(shown) => {
                let node = tree.get(leaf);
                let above = node.parent.map(|parent| tree.get(parent).stack);
                match node.frame {
                    Some(frame) => {
                        let frame = names.leaf(recording, frame, shown, jvm);
                        recording.stack(above, frame)
                    }
                    None => node.stack,
                }
            }
            As::WithoutLeaf(shown) => recording.placeholder_on_top(tree.get(leaf).stack, LOST_LEAF, shown),
            As::Refuted(refutation, parts) => {
                let root = refuted_root(refutations.kind(refutation).name());
                let mut stack = recording.placeholder_stack(None, &root, Category::Refuted);
                if self.wish == Refuted::Isolate {
                    let places: Vec<Option<ResolvedFrame>> = tree.frames(leaf).collect();
                    let frames: Vec<ResolvedFrame> = places.iter().copied().flatten().collect();
                    let cut = places.iter().position(Option::is_none).and_then(|at| u32::try_from(at).ok());
                    let cut = cut.map(|at| Cut { at, missing: 0 });
                    let edge = refutations.edge(refutation, Stack { frames: &frames, cut }, parts);
                    let mut left = frames.len();
                    for place in places.into_iter().rev() {
                        let Some(frame) = place else {
                            stack = recording.placeholder_on_top(stack, FRAMES_LEFT_OUT, shown);
                            continue;
                        };
                        left -= 1;
                        if edge.below == left {
                            stack = recording.placeholder_on_top(stack, &edge.text, shown);
                        }
                        let frame = names.refuted_frame(recording, frame, jvm);
                        stack = recording.stack(Some(stack), frame);
                    }
                }
                stack
            }
        })
    }
}
