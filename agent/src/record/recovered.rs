//! What recovery has brought: of a sample whose walk failed, or is refuted, the first walk from a
//! repaired context that proof does not refute.
//!
//! A repaired context is a caller's, so the frame on top may have been left out. Where the
//! interrupted instruction is in a compiled method's code that method is put back; where it is the
//! interpreter's, nobody knows which it was, and the stack says so. It must never take a recovered
//! stack for proven whose leaf is not.

use std::collections::BTreeMap;

use vouch_recording::Fate;
use vouch_report::{RecoveryReport, float};
use vouch_sample::{Bci, ENTRY, Frame, Head, NATIVE, ResolvedFrame, ResolvedMethod};
use vouch_signal::sample_layout::CandidateStack;
use vouch_verify::proof::Body;
use vouch_walk::recover::ALL;

use crate::jvm::{CodeAt, Jvm, Top, TopFrame};
use crate::prove::Prover;

/// What came of each strategy, and for how many intervals the samples stand that have their stack
/// by it.
#[derive(Debug, Default)]
pub struct Recovered([(RecoveryReport, u64); ALL.len()]);

/// What is known of the frame on top of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// The walk has it.
    Walked,
    /// The walk began with its caller; it was put back.
    PutBack,
    /// The walk began with its caller, and nobody knows which it was.
    Lost,
    /// There may have been one that the walk has not.
    Unsure,
}

impl Recovered {
    /// A walk of this strategy has come to this, for so many intervals.
    pub fn count(&mut self, strategy: u16, fate: Fate, weight: u32) {
        let Some((count, brought)) = self.0.get_mut(usize::from(strategy)) else { return };
        count.walked += 1;
        match fate {
            Fate::Proven => count.proven += 1,
            Fate::Plausible => count.plausible += 1,
            _ => count.refuted += 1,
        }
        *brought += if fate == Fate::Refuted { 0 } else { weight.into() };
    }

    /// By strategy, with how many candidates of each there were; and the time that an interval is,
    /// in ms.
    pub fn report(&self, tried: impl Fn(usize) -> u64, interval_ms: f64) -> BTreeMap<String, RecoveryReport> {
        let rows = ALL.iter().zip(&self.0).enumerate().map(|(at, (strategy, (count, brought)))| {
            let row = RecoveryReport { tried: tried(at), weight_ms: float(*brought) * interval_ms, ..*count };
            (strategy.name.to_owned(), row)
        });
        rows.collect()
    }
}

/// Where a walk began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// Where the thread was interrupted, or where it has left Java.
    Here,
    /// With a caller, whose code has the other frames on top, as far as that is known: all that may
    /// go before the next poll.
    Caller { leaf: Leaf, top: Option<TopFrame> },
}

impl Began {
    /// Where a walk of a context as it is began.
    pub fn of(account: &CandidateStack<'_>, jvm: &mut dyn Jvm) -> Self {
        let Some(before) = account.origin.resumed else { return Self::Here };
        Self::Caller { leaf: Leaf::Walked, top: top_with(before.into(), account.pc, jvm) }
    }

    /// What is known of the frame on top.
    pub fn leaf(self) -> Leaf {
        match self {
            Self::Here => Leaf::Walked,
            Self::Caller { leaf, .. } => leaf,
        }
    }

    /// What may go before the next poll, if so much may where the thread was interrupted: where a
    /// method is just being left it has its last poll behind it, so its caller's frame may go as
    /// well.
    pub fn top(self, here: Top) -> Top {
        match self {
            Self::Here => here,
            Self::Caller { top, .. } => Top { frame: top, away: false },
        }
    }
}

/// How a context was repaired.
#[derive(Debug, Clone, Copy)]
pub struct Repair {
    pub strategy: u16,
    /// The instruction that was interrupted, and that which the walk began at.
    pub interrupted: usize,
    pub caller: usize,
}

impl Repair {
    /// Puts the frame on top back, if it is known, into the frames and what their ids meant.
    pub fn put_back(
        self,
        head: &Head,
        frames: &mut Vec<Frame>,
        meant: &mut Vec<ResolvedFrame>,
        prover: &mut Prover,
        jvm: &mut dyn Jvm,
    ) -> Began {
        let strategy = ALL.get(self.strategy as usize);
        if strategy.is_some_and(|strategy| strategy.keeps_leaf) {
            return Began::Here;
        }
        let leaf = match jvm.code_at(self.interrupted) {
            CodeAt::Other if strategy.is_some_and(|strategy| strategy.sure) => Leaf::Walked,
            CodeAt::Other => Leaf::Unsure,
            CodeAt::Interpreter | CodeAt::Unknown => Leaf::Lost,
            CodeAt::Method(id) => {
                let meaning = jvm.resolve(id, head.time);
                bci_of(meaning, prover, jvm).map_or(Leaf::Lost, |bci| {
                    frames.insert(0, Frame::new(id, bci));
                    meant.insert(0, ResolvedFrame::new(meaning, bci));
                    Leaf::PutBack
                })
            }
        };
        let top = top_with(usize::from(leaf == Leaf::PutBack), self.caller, jvm);
        Began::Caller { leaf, top }
    }
}

/// What is one with the frame that calls from there, and so many frames more.
fn top_with(more: usize, pc: usize, jvm: &mut dyn Jvm) -> Option<TopFrame> {
    jvm.top_at(pc).map(|top| TopFrame { frames: top.frames + more, ..top })
}

/// Where in a method a thread is that has not begun it, or has ended it. `None` if nobody knows the
/// method, or it has no frame: what links a method handle to its method goes on there.
fn bci_of(meaning: ResolvedMethod, prover: &mut Prover, jvm: &mut dyn Jvm) -> Option<Bci> {
    let method = prover.method(meaning, jvm)?;
    match method.body {
        Body::Native if &*method.class.name == "java/lang/invoke/MethodHandle" => None,
        Body::Native => Some(NATIVE),
        _ => Some(ENTRY),
    }
}
