//! Chooses which of a sample's candidate stacks to record: from two walkers, or from recovery.
//!
//! This module must never choose a stack that proof refutes if proof does not refute another one.

use std::mem::{swap, take};

use vouch_recording::Trust;
use vouch_sample::{Cut, Frame, Head, Reason, Stack};
use vouch_signal::lane::Entry;
use vouch_signal::sample_layout::{CandidateStack, Origin, candidates};
use vouch_unwind::recover::ALL;
use vouch_verify::proof::Verdict;

use super::Recorder;
use super::agreement::Difference;
use super::recovered::{Began, Leaf, Repair};
use super::taken::Taken;
use super::top_frames;
use crate::jvm::{CodeAt, Jvm, Site};

impl Recorder {
    /// Chooses one of the walkers' candidate stacks, and fills `frames` with its frames. If two
    /// differ it is the first, unless proof refutes only that one. Without a stack, returns the
    /// reason and the interrupted instruction.
    pub(super) fn walked_stack(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> Result<Taken, (Reason, usize)> {
        frames.clear();
        let mut walkers = candidates(entry).filter(|candidate| candidate.origin.strategy.is_none());
        let Some(mut taken) = walkers.next() else { return Err((Reason::NO_JAVA_FRAME, 0)) };
        let mut is_asgct_alone = self.is_asgct_alone;
        frames.extend(taken.frames());
        let mut refuted = false;
        if let Some(second) = walkers.next() {
            let mut other = take(&mut self.other);
            other.clear();
            other.extend(second.frames());
            let [own, asgct] =
                [(&*frames, taken.cut), (&other, second.cut)].map(|(frames, cut)| Stack { frames, cut });
            let difference = Difference::compare(own, asgct);
            let differ = !matches!(difference, Difference::Same | Difference::Neither);
            refuted = differ && !own.frames.is_empty() && self.is_refuted(head, own, jvm);
            let other_refuted = differ && !asgct.frames.is_empty() && self.is_refuted(head, asgct, jvm);
            if second.origin.compared {
                self.agreement.count(difference, refuted, other_refuted);
            }
            // The thread's state and anchor show that it runs no Java. AsyncGetCallTrace checks the
            // registers first, and may fail at that. If neither walker has a stack,
            // AsyncGetCallTrace's reason is the better known one.
            let no_java = taken.answer.is_err_and(Reason::is_outside)
                && second.answer.is_err_and(|why| !why.is_in_java());
            if taken.answer.is_err() && !no_java || refuted && second.answer.is_ok() && !other_refuted {
                swap(frames, &mut other);
                is_asgct_alone = taken.answer.is_ok() || taken.answer.is_err_and(Reason::is_in_java);
                (taken, refuted) = (second, other_refuted);
            }
            self.other = other;
        }
        taken.answer.map_err(|why| (why, taken.pc))?;
        let Origin { walker, resumed: begun, .. } = taken.origin;
        // After a frame that is being built or torn down the walk resumes at a call. Debug
        // information for calls is exact.
        let site = Site { pc: taken.pc, is_call: begun.is_some() };
        let site = (begun != Some(true)).then_some(site);
        Ok(Taken {
            walker,
            began: Began::from_candidate(&taken, jvm),
            cut: taken.cut,
            refuted,
            site,
            is_asgct_alone,
        })
    }

    /// Returns true if proof refutes this walk of a sample.
    fn is_refuted(&mut self, head: &Head, walk: Stack<'_>, jvm: &mut dyn Jvm) -> bool {
        self.resolved.clear();
        jvm.resolve_frames(walk.frames, head.time, &mut self.resolved);
        self.refutes(head, walk.cut, Verdict::is_refuted, jvm)
    }

    /// Records a recovered stack if the walker's stack is refuted. Returns true if one was
    /// recorded. It must begin with all methods in `found`: without the top frames it would be no
    /// better.
    pub(super) fn recovered_instead(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        found: &[Frame],
        jvm: &mut dyn Jvm,
    ) -> bool {
        let interrupted = candidates(entry).next().map_or(0, |first| first.pc);
        let mut frames = take(&mut self.other);
        let holds = self.any_recovered(head, entry, (interrupted, found), &mut frames, jvm);
        self.other = frames;
        holds
    }

    /// Records a recovered stack if compiled code called code without debug information, such as a
    /// VM routine. Returns true if one was recorded. In that case AsyncGetCallTrace uses the
    /// instruction after the call, which may belong to another method, or it leaves out the
    /// innermost frames. Both stacks must agree on the frames outside that compiled code. Otherwise
    /// the recovered stack must contain all of AsyncGetCallTrace's frames, by a strategy that does
    /// not guess.
    pub(super) fn recovered_at_leaf_call(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        walker: u8,
        found: &[Frame],
        jvm: &mut dyn Jvm,
    ) -> bool {
        let Some(first) =
            candidates(entry).next().filter(|first| first.answer.is_err_and(Reason::is_in_java))
        else {
            return false;
        };
        if walker == first.origin.walker || jvm.code_at(first.pc) != CodeAt::Other {
            return false;
        }
        let mut frames = take(&mut self.other);
        let agrees = |candidate: &CandidateStack<'_>, jvm: &mut dyn Jvm| {
            let walked: Vec<Frame> = candidate.frames().collect();
            // C1's code leaves the frame pointer unchanged. AsyncGetCallTrace follows it, and so
            // skips the calling frames.
            let is_sure = candidate.origin.strategy.and_then(|strategy| ALL.get(usize::from(strategy)));
            if is_sure.is_some_and(|it| it.sure) && walked.len() > found.len() && walked.ends_with(found) {
                return true;
            }
            let site = Site { pc: candidate.pc, is_call: true };
            let Some(inlined) = jvm.inlined_at(site, &walked).map(|inlined| inlined.found) else {
                return false;
            };
            let Some((inner, outer)) = walked.split_at_checked(inlined) else { return false };
            let compiled = found.len().checked_sub(outer.len() + 1).and_then(|at| found.get(at));
            found.ends_with(outer)
                && compiled.zip(inner.last()).is_some_and(|(one, other)| one.method() == other.method())
        };
        let holds = self.recovered_where(head, entry, first.pc, agrees, &mut frames, jvm);
        self.other = frames;
        holds
    }

    /// Records the first recovered stack that begins with the methods in `inner` and is not
    /// refuted. Returns true if there is one.
    pub(super) fn any_recovered(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        (interrupted, inner): (usize, &[Frame]),
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> bool {
        let begins = |candidate: &CandidateStack<'_>, _: &mut dyn Jvm| {
            let mut frames = candidate.frames().map(Frame::method);
            inner.iter().all(|frame| frames.next() == Some(frame.method()))
        };
        self.recovered_where(head, entry, interrupted, begins, frames, jvm)
    }

    /// Records the first recovered stack that `is_wanted` accepts and proof does not refute.
    /// Returns true if there is one.
    fn recovered_where(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        interrupted: usize,
        is_wanted: impl Fn(&CandidateStack<'_>, &mut dyn Jvm) -> bool,
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> bool {
        let mut recovered =
            candidates(entry).filter_map(|candidate| Some((candidate.origin.strategy?, candidate)));
        recovered.any(|(strategy, candidate)| {
            if !is_wanted(&candidate, jvm) {
                return false;
            }
            frames.clear();
            frames.extend(candidate.frames());
            let repair = Repair { strategy, interrupted, caller: candidate.pc };
            self.take_recovered(head, repair, (frames, candidate.cut), jvm)
        })
    }

    /// Records a recovered stack, and returns true, unless proof refutes it.
    fn take_recovered(
        &mut self,
        head: &Head,
        repair: Repair,
        (frames, mut cut): (&mut Vec<Frame>, Option<Cut>),
        jvm: &mut dyn Jvm,
    ) -> bool {
        let (track, _) = self.tracks.track(head, &mut self.recording);
        self.resolved.clear();
        jvm.resolve_frames(frames, head.time, &mut self.resolved);
        let began = repair.put_back(head, frames, &mut self.resolved, &mut self.walks.prover, jvm);
        if let (Some(cut), Leaf::PutBack) = (&mut cut, began.leaf()) {
            cut.at += 1;
        }
        if self.refutes(head, cut, Verdict::fails_a_guess, jvm) {
            self.recovered.count(repair.strategy, Trust::Refuted, head.weight);
            return false;
        }
        let mut jvm_stack =
            head.wants_witness.then(|| self.witness.take(head, Stack { frames, cut }, began, jvm)).flatten();
        let site = Site { pc: repair.caller, is_call: true };
        let put_back = usize::from(began.leaf() == Leaf::PutBack);
        let corrected = top_frames::correct((frames, &mut cut), put_back, jvm_stack.as_mut(), site, jvm);
        if corrected.is_changed {
            self.resolved.clear();
            jvm.resolve_frames(frames, head.time, &mut self.resolved);
        }
        let judged = self.judge(head, (began, corrected.known), cut, jvm);
        let (trust, stack) = self.java_stack(head, judged, jvm_stack, track, jvm);
        self.recovered.count(repair.strategy, trust, head.weight);
        self.add(head, track, stack, trust);
        true
    }
}
