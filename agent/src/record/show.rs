//! How a walk is shown: under its own roots if it may be, apart from them if it is refuted.
//!
//! A refuted stack's frames are functions of their own, in a category of their own: no view, from
//! whichever end it counts, may mix them with the true ones. Its time is never left out.

use foldhash::{HashMap, HashMapExt};
use vouch_recording::{Category, FRAMES_LEFT_OUT, Leaf, Recording, StackId, refuted_root};
use vouch_sample::{Cut, ResolvedFrame, Stack};

use super::names::Names;
use super::tree::{NodeId, OffenceId};
use super::walks::Walks;
use crate::jvm::Jvm;
use crate::options::choices::Refuted;

/// In the place of a frame on top that was left out.
const LOST_LEAF: &str = "[a method that is being entered or left]";

/// The stacks as they are shown.
#[derive(Debug)]
pub struct Shown {
    wish: Refuted,
    known: HashMap<(NodeId, As), StackId>,
}

/// What a walk came to.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    pub leaf: NodeId,
    /// There was a frame on top of it that nobody knows.
    pub lost: bool,
    /// Its fate, and how its top frame is known.
    pub shown: Leaf,
    /// What is against it.
    pub refuted: Option<OffenceId>,
    /// Where in it its witness begins to differ, counted from the leaf.
    pub parts: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum As {
    Stack(Leaf),
    WithoutLeaf(Leaf),
    Refuted(OffenceId, Option<usize>),
}

impl Shown {
    pub fn new(wish: Refuted) -> Self {
        Self { wish, known: HashMap::new() }
    }

    /// The stack of a walk.
    pub fn stack(
        &mut self,
        Judged { leaf, lost, shown, refuted, parts }: Judged,
        Walks { tree, offences, .. }: &Walks,
        recording: &mut Recording,
        names: &mut Names,
        jvm: &mut dyn Jvm,
    ) -> StackId {
        let shown_as = match refuted.filter(|_| self.wish != Refuted::Keep) {
            Some(offence) => As::Refuted(offence, parts),
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
            As::Refuted(offence, parts) => {
                let root = refuted_root(offences.kind(offence).name());
                let mut stack = recording.placeholder_stack(None, &root, Category::Refuted);
                if self.wish == Refuted::Isolate {
                    let places: Vec<Option<ResolvedFrame>> = tree.frames(leaf).collect();
                    let frames: Vec<ResolvedFrame> = places.iter().copied().flatten().collect();
                    let cut = places.iter().position(Option::is_none).and_then(|at| u32::try_from(at).ok());
                    let cut = cut.map(|at| Cut { at, missing: 0 });
                    let edge = offences.edge(offence, Stack { frames: &frames, cut }, parts);
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
