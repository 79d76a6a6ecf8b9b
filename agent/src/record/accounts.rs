//! Which of a sample's accounts is taken, where two walkers have written theirs, and where a stack
//! was recovered.
//!
//! It must never take one that proof refutes where another holds.

use std::mem::{swap, take};

use vouch_recording::Fate;
use vouch_sample::{Cut, Frame, Head, Reason, Stack};
use vouch_signal::lane::Entry;
use vouch_signal::sample_layout::{CandidateStack, Origin, candidates};
use vouch_verify::proof::Verdict;
use vouch_walk::recover::ALL;

use super::Recorder;
use super::agreement::Difference;
use super::recovered::{Began, Leaf, Repair};
use super::taken::Taken;
use super::top_frames;
use crate::jvm::{CodeAt, Jvm, Site};

impl Recorder {
    /// The account of a sample that is to be taken, and its frames. Of two that differ that is the
    /// first, unless proof refutes it and not the other. If there is none, why, and where the
    /// thread was interrupted.
    pub(super) fn of_walkers(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> Result<Taken, (Reason, usize)> {
        frames.clear();
        let mut walkers = candidates(entry).filter(|account| account.origin.strategy.is_none());
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
            let difference = Difference::of(own, asgct);
            let differ = !matches!(difference, Difference::Same | Difference::Neither);
            refuted = differ && !own.frames.is_empty() && self.is_refuted(head, own, jvm);
            let other_refuted = differ && !asgct.frames.is_empty() && self.is_refuted(head, asgct, jvm);
            if second.origin.compared {
                self.agreement.count(difference, refuted, other_refuted);
            }
            // That there is no Java is the thread's own word, by state and anchor;
            // AsyncGetCallTrace looks at the registers before, and may fail at that. Else, where
            // neither has a stack, it is AsyncGetCallTrace's reason that is known by its name.
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
        // Behind a frame that is being made or taken down a call is described exactly.
        let site = Site { pc: taken.pc, is_call: begun.is_some() };
        let site = (begun != Some(true)).then_some(site);
        Ok(Taken { walker, began: Began::of(&taken, jvm), cut: taken.cut, refuted, site, is_asgct_alone })
    }

    /// True if proof speaks against this walk of a sample.
    fn is_refuted(&mut self, head: &Head, walk: Stack<'_>, jvm: &mut dyn Jvm) -> bool {
        self.meant.clear();
        jvm.resolve_frames(walk.frames, head.time, &mut self.meant);
        self.refutes(head, walk.cut, Verdict::is_refuted, jvm)
    }

    /// Takes in a sample with what was recovered of it where the walker that found these frames is
    /// refuted: true if any of it holds. It must begin with all of their methods: one that lacks
    /// what is on top is no better.
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

    /// Takes in a sample with what was recovered of it where the thread was interrupted in what
    /// compiled code calls without debug information, such as a routine of the VM's: true if that
    /// holds. AsyncGetCallTrace looks there for the instruction behind the call, which may be
    /// another method's, or leaves out the innermost frames. Both must agree on the frames outside
    /// of that compiled code, or the recovered stack must have all of AsyncGetCallTrace's frames,
    /// and be of a strategy that does not guess.
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
        let agrees = |account: &CandidateStack<'_>, jvm: &mut dyn Jvm| {
            let walked: Vec<Frame> = account.frames().collect();
            // By the frame pointer, which C1's code leaves alone, AsyncGetCallTrace goes past the
            // frames that called.
            let is_sure = account.origin.strategy.and_then(|strategy| ALL.get(usize::from(strategy)));
            if is_sure.is_some_and(|it| it.sure) && walked.len() > found.len() && walked.ends_with(found) {
                return true;
            }
            let site = Site { pc: account.pc, is_call: true };
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

    /// Takes in a sample with the first stack recovered of it that begins with these methods and is
    /// not refuted: true if there is one.
    pub(super) fn any_recovered(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        (interrupted, inner): (usize, &[Frame]),
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> bool {
        let begins = |account: &CandidateStack<'_>, _: &mut dyn Jvm| {
            let mut frames = account.frames().map(Frame::method);
            inner.iter().all(|frame| frames.next() == Some(frame.method()))
        };
        self.recovered_where(head, entry, interrupted, begins, frames, jvm)
    }

    /// Takes in a sample with the first stack recovered of it that is as asked for and is not
    /// refuted: true if there is one.
    fn recovered_where(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        interrupted: usize,
        is_wanted: impl Fn(&CandidateStack<'_>, &mut dyn Jvm) -> bool,
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> bool {
        let mut recovered = candidates(entry).filter_map(|account| Some((account.origin.strategy?, account)));
        recovered.any(|(strategy, account)| {
            if !is_wanted(&account, jvm) {
                return false;
            }
            frames.clear();
            frames.extend(account.frames());
            let repair = Repair { strategy, interrupted, caller: account.pc };
            self.take_recovered(head, repair, (frames, account.cut), jvm)
        })
    }

    /// Takes in a sample with what was recovered of it, unless that is refuted.
    fn take_recovered(
        &mut self,
        head: &Head,
        repair: Repair,
        (frames, mut cut): (&mut Vec<Frame>, Option<Cut>),
        jvm: &mut dyn Jvm,
    ) -> bool {
        let (track, _) = self.tracks.of(head, &mut self.recording);
        self.meant.clear();
        jvm.resolve_frames(frames, head.time, &mut self.meant);
        let began = repair.put_back(head, frames, &mut self.meant, &mut self.walks.prover, jvm);
        if let (Some(cut), Leaf::PutBack) = (&mut cut, began.leaf()) {
            cut.at += 1;
        }
        if self.refutes(head, cut, Verdict::fails_a_guess, jvm) {
            self.recovered.count(repair.strategy, Fate::Refuted, head.weight);
            return false;
        }
        let mut account =
            head.wants_witness.then(|| self.witness.take(head, Stack { frames, cut }, began, jvm)).flatten();
        let site = Site { pc: repair.caller, is_call: true };
        let put_back = usize::from(began.leaf() == Leaf::PutBack);
        let corrected = top_frames::correct((frames, &mut cut), put_back, account.as_mut(), site, jvm);
        if corrected.is_changed {
            self.meant.clear();
            jvm.resolve_frames(frames, head.time, &mut self.meant);
        }
        let judged = self.judge(head, (began, corrected.known), cut, jvm);
        let (fate, stack) = self.java_stack(head, judged, account, track, jvm);
        self.recovered.count(repair.strategy, fate, head.weight);
        self.add(head, track, stack, fate);
        true
    }
}
