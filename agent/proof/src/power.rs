//! The power of proof: how often it notices a corruption that was made on purpose, in stacks of the profile itself.
//!
//! The corruptions are of the kinds by which walks go wrong. The seed is fixed: the same stacks give the same figures.

use fastrand::Rng;

use crate::code::Code;
use crate::edge::edge;
use crate::method::{Body, Frame, Method, Relation};
use crate::root::{Thread, root};

/// A way to spoil a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corruption {
    /// A frame is left out: any but the leaf, since bytecode does not say what a leaf calls next.
    DroppedFrame,
    /// Two neighbouring frames are those of another stack.
    ForeignFrames,
    /// A caller stands at another of its instructions.
    MovedBci,
}

impl Corruption {
    pub const ALL: [Self; 3] = [Self::DroppedFrame, Self::ForeignFrames, Self::MovedBci];

    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::DroppedFrame => "dropped_frames",
            Self::ForeignFrames => "foreign_frames",
            Self::MovedBci => "moved_bcis",
        }
    }
}

const SEED: u64 = 0x0076_6f75_6368;

/// Makes `trials` corruptions of a kind in stacks that are drawn from `count`, and says how many could be made and how
/// many were noticed.
pub fn power<'m>(
    corruption: Corruption,
    trials: u32,
    count: usize,
    mut stack: impl FnMut(usize) -> Vec<Frame<'m>>,
    mut relation: impl FnMut(Frame<'m>, &str, Frame<'m>) -> Relation,
) -> (u64, u64) {
    let mut rng = Rng::with_seed(SEED);
    let (mut tried, mut noticed) = (0, 0);
    for _ in 0..if count == 0 { 0 } else { trials } {
        let ours = stack(rng.usize(..count));
        let corrupted = match corruption {
            Corruption::DroppedFrame => drop_one(&ours, &mut rng),
            Corruption::ForeignFrames => {
                let theirs = stack(rng.usize(..count));
                take_two(&ours, &theirs, &mut rng)
            }
            Corruption::MovedBci => move_one(&ours, &mut rng),
        };
        if let Some(corrupted) = corrupted {
            tried += 1;
            noticed += u64::from(is_noticed(&corrupted, &mut relation));
        }
    }
    (tried, noticed)
}

fn drop_one<'m>(ours: &[Frame<'m>], rng: &mut Rng) -> Option<Vec<Frame<'m>>> {
    if ours.len() < 2 {
        return None;
    }
    let mut stack = ours.to_vec();
    stack.remove(rng.usize(1..ours.len()));
    Some(stack)
}

/// Both stacks keep their leaves and roots.
fn take_two<'m>(ours: &[Frame<'m>], theirs: &[Frame<'m>], rng: &mut Rng) -> Option<Vec<Frame<'m>>> {
    if ours.len() < 4 || theirs.len() < 4 {
        return None;
    }
    let (at, from) = (rng.usize(1..ours.len() - 2), rng.usize(1..theirs.len() - 2));
    let mut stack = ours.to_vec();
    stack[at..at + 2].copy_from_slice(&theirs[from..from + 2]);
    let same = stack.iter().zip(ours).all(|(a, b)| a.bci == b.bci && same_method(*a, *b));
    (!same).then_some(stack)
}

fn move_one<'m>(ours: &[Frame<'m>], rng: &mut Rng) -> Option<Vec<Frame<'m>>> {
    if ours.len() < 2 {
        return None;
    }
    let at = rng.usize(1..ours.len());
    let mut stack = ours.to_vec();
    let code = code(ours[at])?;
    let elsewhere: Vec<i32> = code
        .instructions()
        .filter_map(|instruction| i32::try_from(instruction.bci).ok())
        .filter(|bci| *bci != ours[at].bci)
        .collect();
    stack[at].bci = *rng.choice(&elsewhere)?;
    Some(stack)
}

fn code(frame: Frame<'_>) -> Option<&Code> {
    match &frame.method?.body {
        Body::Code(code) => Some(code),
        Body::Native | Body::Gone(_) => None,
    }
}

fn same_method(a: Frame<'_>, b: Frame<'_>) -> bool {
    match (a.method, b.method) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        _ => false,
    }
}

/// The same checks that every sample's stack goes through.
fn is_noticed<'m>(
    stack: &[Frame<'m>],
    relation: &mut impl FnMut(Frame<'m>, &str, Frame<'m>) -> Relation,
) -> bool {
    let mut wrong = |pair: &[Frame<'m>]| match (pair[1].method, pair[0].method) {
        (Some(caller), Some(callee)) => {
            edge(caller, pair[1].bci, callee, |named| relation(pair[1], named, pair[0])).is_refuted()
        }
        _ => true,
    };
    let ends_wrong = |frame: &Frame<'_>| frame.method.is_none_or(|method| !may_be_root(method));
    stack.windows(2).any(&mut wrong) || stack.last().is_some_and(ends_wrong)
}

/// A `run` is given the benefit of the doubt.
fn may_be_root(method: &Method) -> bool {
    !root(method, Thread::Main, || true).is_refuted()
}
