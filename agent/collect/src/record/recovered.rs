//! Counts what recovery contributes: stacks for samples with a failed or refuted walk. A sample
//! gets the first walk from a repaired context that proof does not refute.
//!
//! A repaired context is a caller's context, so the walk may lack the top frame. If the interrupted
//! instruction is in a compiled method, that method is put back as the top frame. In the
//! interpreter's code the method is unknown, and the stack says so. A recovered stack must never
//! count as proven if its leaf is unproven.

use std::collections::BTreeMap;

use vouch_recording::Trust;
use vouch_report::{RecoveryReport, float};
use vouch_sample::{Bci, ENTRY, Frame, Head, NATIVE, ResolvedFrame, ResolvedMethod};
use vouch_signal::sample_layout::CandidateStack;
use vouch_unwind::recover::ALL;
use vouch_verify::proof::Body;

use crate::jvm::{CodeAt, Jvm, Top, TopFrame};
use crate::prove::Prover;

/// Counts of the outcomes of each recovery strategy, with the weight in intervals of the samples
/// that it gave a stack.
#[derive(Debug, Default)]
pub struct Recovered([(RecoveryReport, u64); ALL.len()]);

/// How the top frame of a stack was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// The walk itself found the top frame.
    Walked,
    /// The walk began with the caller, and the interrupted method was put on top of its frames.
    PutBack,
    /// The walk began with the caller, and the interrupted method is unknown.
    Lost,
    /// It is uncertain whether the walk lacks a top frame.
    Unsure,
}

impl Recovered {
    /// Counts the outcome of a walk from a context that a strategy repaired. The weight is in
    /// intervals.
    pub fn count(&mut self, strategy: u16, trust: Trust, weight: u32) {
        let Some((count, brought)) = self.0.get_mut(usize::from(strategy)) else { return };
        count.walked += 1;
        match trust {
            Trust::Proven => count.proven += 1,
            Trust::Plausible => count.plausible += 1,
            _ => count.refuted += 1,
        }
        *brought += if trust == Trust::Refuted { 0 } else { weight.into() };
    }

    /// Returns the outcomes of recovery by the name of the strategy. `tried` counts a strategy's
    /// candidates, `interval_ms` is the sampling interval in milliseconds.
    pub fn report(&self, tried: impl Fn(usize) -> u64, interval_ms: f64) -> BTreeMap<String, RecoveryReport> {
        let rows = ALL.iter().zip(&self.0).enumerate().map(|(at, (strategy, (count, brought)))| {
            let row = RecoveryReport { tried: tried(at), weight_ms: float(*brought) * interval_ms, ..*count };
            (strategy.name.to_owned(), row)
        });
        rows.collect()
    }
}

/// The frame with which a walk began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// The walk began where the thread was interrupted, or where it left Java.
    Here,
    /// The walk began with a caller. `top` covers the frames that the caller's code may leave
    /// before its next safepoint poll, if known.
    Caller { leaf: Leaf, top: Option<TopFrame> },
}

impl Began {
    /// Returns where a walk from an unrepaired context began.
    pub fn from_candidate(candidate: &CandidateStack<'_>, jvm: &mut dyn Jvm) -> Self {
        let Some(before) = candidate.origin.resumed else { return Self::Here };
        Self::Caller { leaf: Leaf::Walked, top: top_with(before.into(), candidate.pc, jvm) }
    }

    /// Returns how the top frame of the walk was found.
    pub fn leaf(self) -> Leaf {
        match self {
            Self::Here => Leaf::Walked,
            Self::Caller { leaf, .. } => leaf,
        }
    }

    /// Returns the frames that the thread may leave before its next safepoint poll. `here` has
    /// these frames for a walk from the interrupted instruction. A returning method has passed its
    /// last poll, so its caller's frame may be left as well.
    pub fn top(self, here: Top) -> Top {
        match self {
            Self::Here => here,
            Self::Caller { top, .. } => Top { frame: top, away: false },
        }
    }
}

/// How the context was repaired from which a walk began.
#[derive(Debug, Clone, Copy)]
pub struct Repair {
    pub strategy: u16,
    /// The address of the interrupted instruction, and that of the instruction at which the walk
    /// began.
    pub interrupted: usize,
    pub caller: usize,
}

impl Repair {
    /// Puts the interrupted method on top of a recovered walk's frames and of their resolved
    /// methods, if it is known.
    pub fn put_back(
        self,
        head: &Head,
        frames: &mut Vec<Frame>,
        resolved: &mut Vec<ResolvedFrame>,
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
                    resolved.insert(0, ResolvedFrame::new(meaning, bci));
                    Leaf::PutBack
                })
            }
        };
        let top = top_with(usize::from(leaf == Leaf::PutBack), self.caller, jvm);
        Began::Caller { leaf, top }
    }
}

/// Returns the frames that share the compiled frame at a call, plus `more` frames. `None` if they
/// are unknown.
fn top_with(more: usize, pc: usize, jvm: &mut dyn Jvm) -> Option<TopFrame> {
    jvm.top_at(pc).map(|top| TopFrame { frames: top.frames + more, ..top })
}

/// Returns the bci of a method that is being entered or left. `None` if the method is unknown or
/// has no frame. A method handle's linker has none: execution continues there in the target method.
fn bci_of(meaning: ResolvedMethod, prover: &mut Prover, jvm: &mut dyn Jvm) -> Option<Bci> {
    let method = prover.method(meaning, jvm)?;
    match method.body {
        Body::Native if &*method.class.name == "java/lang/invoke/MethodHandle" => None,
        Body::Native => Some(NATIVE),
        _ => Some(ENTRY),
    }
}
