//! The power of proof: how often it notices a corruption that was made on purpose, in stacks of the
//! profile itself; and how often a witness does, of those that have one.
//!
//! The corruptions are of the kinds by which walks go wrong. The seed is fixed: the same stacks
//! give the same figures.

use fastrand::Rng;
use vouch_sample::{Bci, ResolvedFrame};

use crate::proof::code::Code;
use crate::proof::method::{Body, Known, Method};
use crate::proof::root::{Thread, root};

/// A way to spoil a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corruption {
    /// A frame is left out: any but the leaf, since bytecode does not say what a leaf calls next.
    DroppedFrame,
    /// Two neighbouring frames are those of another stack.
    ForeignFrames,
    /// A caller stands at another of its instructions.
    MovedBci,
    /// Of a recursion one round is left out: the bytecode allows that.
    DroppedRound,
    /// A recursion has one round more.
    AddedRound,
    /// Two neighbouring frames stand in the wrong order.
    SwappedFrames,
    /// The outer half is another stack's.
    ForeignHalf,
}

impl Corruption {
    pub const ALL: [Self; 7] = [
        Self::DroppedFrame,
        Self::ForeignFrames,
        Self::MovedBci,
        Self::DroppedRound,
        Self::AddedRound,
        Self::SwappedFrames,
        Self::ForeignHalf,
    ];

    /// Its name in the report.
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

/// Stacks of thousands of frames are not worth the program's waiting for its end: fewer of them are
/// drawn.
const MOST_FRAMES: usize = 500_000;

const SEED: u64 = 0x0076_6f75_6368;

/// A corrupted stack, and the frames whose edges are no longer what they were: those from the first
/// to the second.
struct Corrupted<'m> {
    stack: Vec<Known<'m>>,
    touched: (usize, usize),
}

/// A frame with its method.
pub type Framed<'m> = (ResolvedFrame, &'m Method);

/// How many corruptions could be made, and how many of them were noticed by whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noticed {
    pub tried: u64,
    pub by_proof: u64,
    pub by_witness: u64,
    /// By one of the two, or both.
    pub by_either: u64,
}

/// Makes at most `trials` corruptions of a kind in stacks that are drawn from `count`, and says how
/// many could be made and how many were noticed. `refutes` says whether the first of two frames, as
/// the caller, would be refuted by its callee; `witness` whether the stack of this place has a
/// witness that speaks against it now.
pub fn power<'m>(
    corruption: Corruption,
    trials: u32,
    count: usize,
    mut stack: impl FnMut(usize) -> Vec<Known<'m>>,
    mut refutes: impl FnMut(Framed<'m>, Framed<'m>) -> bool,
    mut witness: impl FnMut(usize, &[Known<'m>]) -> bool,
) -> Noticed {
    let mut rng = Rng::with_seed(SEED);
    let mut noticed = Noticed::default();
    let mut left = MOST_FRAMES;
    for _ in 0..if count == 0 { 0 } else { trials } {
        let place = rng.usize(..count);
        let ours = stack(place);
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
            Corruption::MovedBci => move_one(ours, &mut rng),
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
            let by_witness = witness(place, &corrupted.stack);
            noticed.tried += 1;
            noticed.by_proof += u64::from(by_proof);
            noticed.by_witness += u64::from(by_witness);
            noticed.by_either += u64::from(by_proof || by_witness);
        }
    }
    noticed
}

fn drop_one<'m>(mut stack: Vec<Known<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    if stack.len() < 2 {
        return None;
    }
    let at = rng.usize(1..stack.len());
    stack.remove(at);
    Some(Corrupted { stack, touched: (at - 1, at) })
}

/// Both stacks keep their leaves and roots.
fn take_two<'m>(ours: &[Known<'m>], theirs: &[Known<'m>], rng: &mut Rng) -> Option<Corrupted<'m>> {
    if ours.len() < 4 || theirs.len() < 4 {
        return None;
    }
    let (at, from) = (rng.usize(1..ours.len() - 2), rng.usize(1..theirs.len() - 2));
    let (mut stack, taken) = (ours.to_vec(), &theirs[from..from + 2]);
    let same = taken.iter().zip(&ours[at..at + 2]).all(|(a, b)| a.frame == b.frame);
    stack[at..at + 2].copy_from_slice(taken);
    (!same).then_some(Corrupted { stack, touched: (at - 1, at + 2) })
}

fn move_one<'m>(mut stack: Vec<Known<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
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

/// The longest round that is looked for, and how often.
const ROUND: usize = 4;
const LOOKS: usize = 32;

/// A round of a recursion: from one frame to the same again, further out. Not the leaf, which may
/// be anywhere. Few stacks have one, so of a short one each place is looked at once.
fn round(stack: &[Known<'_>], rng: &mut Rng) -> Option<(usize, usize)> {
    let places = stack.len().saturating_sub(2);
    if places == 0 {
        return None;
    }
    let first = rng.usize(..places);
    (0..places.min(LOOKS)).find_map(|look| {
        let at = 1 + if places <= LOOKS { (first + look) % places } else { rng.usize(..places) };
        let again = |step: &usize| stack.get(at + step).is_some_and(|frame| frame.frame == stack[at].frame);
        (1..=ROUND).find(again).map(|step| (at, step))
    })
}

fn drop_round<'m>(mut stack: Vec<Known<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    let (at, step) = round(&stack, rng)?;
    stack.drain(at..at + step);
    Some(Corrupted { stack, touched: (at - 1, at) })
}

fn add_round<'m>(mut stack: Vec<Known<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    let (at, step) = round(&stack, rng)?;
    let more = stack[at..at + step].to_vec();
    stack.splice(at..at, more);
    Some(Corrupted { stack, touched: (at - 1, at + step) })
}

fn swap_two<'m>(mut stack: Vec<Known<'m>>, rng: &mut Rng) -> Option<Corrupted<'m>> {
    if stack.len() < 4 {
        return None;
    }
    let at = rng.usize(1..stack.len() - 2);
    stack.swap(at, at + 1);
    (stack[at].frame != stack[at + 1].frame).then_some(Corrupted { stack, touched: (at - 1, at + 2) })
}

fn take_half<'m>(mut stack: Vec<Known<'m>>, theirs: &[Known<'m>]) -> Option<Corrupted<'m>> {
    if stack.len() < 4 || theirs.len() < 4 {
        return None;
    }
    let (at, outer) = (stack.len() / 2, &theirs[theirs.len() / 2..]);
    let same = stack[at..].iter().map(|frame| frame.frame).eq(outer.iter().map(|frame| frame.frame));
    stack.truncate(at);
    stack.extend_from_slice(outer);
    (!same).then_some(Corrupted { stack, touched: (at - 1, at) })
}

fn code(frame: Known<'_>) -> Option<&Code> {
    match &frame.method?.body {
        Body::Code(code) => Some(code),
        Body::Native | Body::Gone(_) => None,
    }
}

/// The same checks that every sample's stack goes through, where they can come out otherwise than
/// before.
fn is_noticed<'m>(
    corrupted: &Corrupted<'m>,
    refutes: &mut impl FnMut(Framed<'m>, Framed<'m>) -> bool,
) -> bool {
    let Corrupted { stack, touched: (first, last) } = corrupted;
    let mut wrong = |pair: &[Known<'m>]| match (pair[1].method, pair[0].method) {
        (Some(caller), Some(callee)) => refutes((pair[1].frame, caller), (pair[0].frame, callee)),
        _ => true,
    };
    let touched = &stack[*first..stack.len().min(last + 1)];
    let ends_wrong = |frame: &Known<'_>| frame.method.is_none_or(|method| !may_be_root(method));
    touched.windows(2).any(&mut wrong) || stack.last().is_some_and(ends_wrong)
}

/// A `run` is given the benefit of the doubt.
fn may_be_root(method: &Method) -> bool {
    !root(method, Thread::Main, || true).is_refuted()
}
