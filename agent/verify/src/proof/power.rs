//! Measures the power of proof: the share of deliberate corruptions that proof notices, in stacks
//! of the profile itself. The same is measured for witnesses, in stacks that have one.
//!
//! The corruptions are like the mistakes of walkers. The seed is fixed, so the same stacks give the
//! same counts.

use fastrand::Rng;
use vouch_sample::{Bci, ResolvedFrame};

use crate::proof::code::Code;
use crate::proof::method::{Body, KnownFrame, Method};
use crate::proof::root::{Thread, root};

/// A way to corrupt a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corruption {
    /// Removes a frame other than the leaf: bytecode does not say what a leaf calls next.
    DroppedFrame,
    /// Replaces two neighbouring frames by two frames of another stack.
    ForeignFrames,
    /// Moves a caller to another of its instructions.
    MovedBci,
    /// Removes one round of a recursion, which the bytecode allows.
    DroppedRound,
    /// Adds one round to a recursion, which the bytecode allows.
    AddedRound,
    /// Swaps two neighbouring frames.
    SwappedFrames,
    /// Replaces the outer half of a stack by that of another stack.
    ForeignHalf,
}

impl Corruption {
    /// All corruptions, in the order of the report.
    pub const ALL: [Self; 7] = [
        Self::DroppedFrame,
        Self::ForeignFrames,
        Self::MovedBci,
        Self::DroppedRound,
        Self::AddedRound,
        Self::SwappedFrames,
        Self::ForeignHalf,
    ];

    /// The name of the corruption in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::DroppedFrame => "dropped_frames",
            Self::ForeignFrames => "foreign_frames",
            Self::MovedBci => "moved_bcis",
            Self::DroppedRound => "dropped_rounds",
            Self::AddedRound => "added_rounds",
            Self::SwappedFrames => "swapped_frames",
            Self::ForeignHalf => "foreign_halves",
        }
    }
}

/// The maximal number of frames of all stacks that one call corrupts. The program waits at its end
/// for this measurement, so fewer very deep stacks are drawn.
const MAX_FRAMES: usize = 500_000;

/// The fixed seed, which makes measurements repeatable.
const SEED: u64 = 0x0076_6f75_6368;

/// A stack that was corrupted on purpose.
struct Corrupted<'m> {
    stack: Vec<KnownFrame<'m>>,
    /// The indexes of the first and the last frame that have a changed edge.
    touched: (usize, usize),
}

/// A frame with its method.
pub type FrameWithMethod<'m> = (ResolvedFrame, &'m Method);

/// The number of corruptions that were made, and how many of them proof and witnesses noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PowerCounts {
    /// The number of corrupted stacks.
    pub tried: u64,
    /// The number of corrupted stacks that proof refutes.
    pub by_proof: u64,
    /// The number of corrupted stacks that contradict their witness.
    pub by_witness: u64,
    /// The number of corrupted stacks that proof, the witness, or both notice.
    pub by_either: u64,
}

/// Makes at most `trials` corruptions of a kind in stacks that are drawn at random from `count`,
/// and counts how many are noticed.
///
/// `stack` returns the stack with an index. `refutes` returns whether proof refutes an edge, passed
/// as caller and callee. `witness` returns whether the stack with this index has a witness that
/// contradicts the corrupted frames.
pub fn power<'m>(
    corruption: Corruption,
    trials: u32,
    count: usize,
    mut stack: impl FnMut(usize) -> Vec<KnownFrame<'m>>,
    mut refutes: impl FnMut(FrameWithMethod<'m>, FrameWithMethod<'m>) -> bool,
    mut witness: impl FnMut(usize, &[KnownFrame<'m>]) -> bool,
) -> PowerCounts {
    let mut rng = Rng::with_seed(SEED);
    let mut noticed = PowerCounts::default();
    let mut left = MAX_FRAMES;
    for _ in 0..if count == 0 { 0 } else { trials } {
        let index = rng.usize(..count);
        let ours = stack(index);
        left = left.saturating_sub(ours.len());
        if left == 0 {
            break;
        }
        let corrupted = match corruption {
            Corruption::DroppedFrame => drop_one(ours, &mut rng),
            Corruption::ForeignFrames => {
                let theirs = stack(rng.usize(..count));
                take_two(&ours, &theirs, &mut rng)
            }
            Corruption::MovedBci => move_one_bci(ours, &mut rng),
            Corruption::DroppedRound => drop_round(ours, &mut rng),
            Corruption::AddedRound => add_round(ours, &mut rng),
            Corruption::SwappedFrames => swap_two(ours, &mut rng),
            Corruption::ForeignHalf => {
                let theirs = stack(rng.usize(..count));
                take_half(ours, &theirs)
            }
        };
        if let Some(corrupted) = corrupted {
            let by_proof = is_noticed(&corrupted, &mut refutes);
            let by_witness = witness(index, &corrupted.stack);
            noticed.tried += 1;
            noticed.by_proof += u64::from(by_proof);
            noticed.by_witness += u64::from(by_witness);
            noticed.by_either += u64::from(by_proof || by_witness);
        }
    }
    noticed
}

fn drop_one<'m>(mut stack: Vec<KnownFrame<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    if stack.len() < 2 {
        return None;
    }
    let at = rng.usize(1..stack.len());
    stack.remove(at);
    Some(Corrupted { stack, touched: (at - 1, at) })
}

/// Replaces two frames of `ours` by two of `theirs`. The leaf and the root stay.
fn take_two<'m>(ours: &[KnownFrame<'m>], theirs: &[KnownFrame<'m>], rng: &mut Rng) -> Option<Corrupted<'m>> {
    if ours.len() < 4 || theirs.len() < 4 {
        return None;
    }
    let (at, from) = (rng.usize(1..ours.len() - 2), rng.usize(1..theirs.len() - 2));
    let (mut stack, taken) = (ours.to_vec(), &theirs[from..from + 2]);
    let same = taken.iter().zip(&ours[at..at + 2]).all(|(a, b)| a.frame == b.frame);
    stack[at..at + 2].copy_from_slice(taken);
    (!same).then_some(Corrupted { stack, touched: (at - 1, at + 2) })
}

fn move_one_bci<'m>(mut stack: Vec<KnownFrame<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    if stack.len() < 2 {
        return None;
    }
    let at = rng.usize(1..stack.len());
    let elsewhere: Vec<Bci> = code(stack[at])?
        .instructions()
        .filter_map(|instruction| i32::try_from(instruction.bci).ok())
        .filter(|bci| *bci != stack[at].frame.bci())
        .collect();
    stack[at].frame = ResolvedFrame::new(stack[at].frame.method(), *rng.choice(&elsewhere)?);
    Some(Corrupted { stack, touched: (at - 1, at) })
}

/// The maximal number of frames of a recursion's round that [`round`] looks for.
const MAX_ROUND_FRAMES: usize = 4;
/// The maximal number of frames that [`round`] tries as the beginning of a round.
const MAX_ATTEMPTS: usize = 32;

/// Finds a round of a recursion: from a frame to the same frame further out. It returns the index
/// of the first frame and the number of frames. The leaf is not tried, since it may have any bci.
/// In a short stack each frame is tried once, since few stacks have a recursion.
fn round(stack: &[KnownFrame<'_>], rng: &mut Rng) -> Option<(usize, usize)> {
    let candidates = stack.len().saturating_sub(2);
    if candidates == 0 {
        return None;
    }
    let first = rng.usize(..candidates);
    (0..candidates.min(MAX_ATTEMPTS)).find_map(|attempt| {
        let is_short = candidates <= MAX_ATTEMPTS;
        let at = 1 + if is_short { (first + attempt) % candidates } else { rng.usize(..candidates) };
        let again = |step: &usize| stack.get(at + step).is_some_and(|frame| frame.frame == stack[at].frame);
        (1..=MAX_ROUND_FRAMES).find(again).map(|step| (at, step))
    })
}

fn drop_round<'m>(mut stack: Vec<KnownFrame<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    let (at, step) = round(&stack, rng)?;
    stack.drain(at..at + step);
    Some(Corrupted { stack, touched: (at - 1, at) })
}

fn add_round<'m>(mut stack: Vec<KnownFrame<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    let (at, step) = round(&stack, rng)?;
    let more = stack[at..at + step].to_vec();
    stack.splice(at..at, more);
    Some(Corrupted { stack, touched: (at - 1, at + step) })
}

fn swap_two<'m>(mut stack: Vec<KnownFrame<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    if stack.len() < 4 {
        return None;
    }
    let at = rng.usize(1..stack.len() - 2);
    stack.swap(at, at + 1);
    (stack[at].frame != stack[at + 1].frame).then_some(Corrupted { stack, touched: (at - 1, at + 2) })
}

fn take_half<'m>(mut stack: Vec<KnownFrame<'m>>, theirs: &[KnownFrame<'m>]) -> Option<Corrupted<'m>> {
    if stack.len() < 4 || theirs.len() < 4 {
        return None;
    }
    let (at, outer) = (stack.len() / 2, &theirs[theirs.len() / 2..]);
    let same = stack[at..].iter().map(|frame| frame.frame).eq(outer.iter().map(|frame| frame.frame));
    stack.truncate(at);
    stack.extend_from_slice(outer);
    (!same).then_some(Corrupted { stack, touched: (at - 1, at) })
}

fn code(frame: KnownFrame<'_>) -> Option<&Code> {
    match &frame.method?.body {
        Body::Code(code) => Some(code),
        Body::Native | Body::Gone(_) => None,
    }
}

/// True if proof notices the corruption. It applies the checks of every sample's stack to the edges
/// that have changed, and to the root.
fn is_noticed<'m>(
    corrupted: &Corrupted<'m>,
    refutes: &mut impl FnMut(FrameWithMethod<'m>, FrameWithMethod<'m>) -> bool,
) -> bool {
    let Corrupted { stack, touched: (first, last) } = corrupted;
    let mut wrong =
        |(callee, caller): (&KnownFrame<'m>, &KnownFrame<'m>)| match (caller.method, callee.method) {
            (Some(by), Some(called)) => refutes((caller.frame, by), (callee.frame, called)),
            _ => caller.frame.is_judged_caller_of(callee.frame),
        };
    let touched = &stack[*first..stack.len().min(last + 1)];
    let ends_wrong = |frame: &KnownFrame<'_>| frame.method.is_none_or(|method| !may_be_root(method));
    touched.iter().zip(touched.iter().skip(1)).any(&mut wrong) || stack.last().is_some_and(ends_wrong)
}

/// True if a stack may end in this method. A method `run` counts as that of a `java.lang.Thread`.
fn may_be_root(method: &Method) -> bool {
    !root(method, Thread::Main, || true).is_refuted()
}
