//! Which of a sample's accounts is taken, where two walkers have written theirs.
//!
//! It must never take one that proof refutes where the other holds.

use std::mem::{swap, take};

use vouch_proof::Verdict;
use vouch_sample::{Cut, Frame, Head, Reason, Stack};
use vouch_signal::lane::Entry;
use vouch_signal::record::accounts;

use super::Recorder;
use super::agreement::Difference;
use super::recovered::Began;
use crate::jvm::Jvm;

impl Recorder {
    /// The account of a sample that is to be taken: its frames, where it began, and where it is cut. Of two that differ that is the first, unless
    /// proof refutes it and not the other. If there is none, why, and where the thread was interrupted.
    pub(super) fn of_walkers(
        &mut self,
        head: &Head,
        entry: &Entry<'_>,
        frames: &mut Vec<Frame>,
        jvm: &mut dyn Jvm,
    ) -> Result<(Began, Option<Cut>), (Reason, usize)> {
        frames.clear();
        let mut walkers = accounts(entry).filter(|account| account.origin.strategy.is_none());
        let Some(mut taken) = walkers.next() else { return Err((Reason::NO_JAVA_FRAME, 0)) };
        frames.extend(taken.frames());
        if let Some(second) = walkers.next() {
            let mut other = take(&mut self.other);
            other.clear();
            other.extend(second.frames());
            let [own, asgct] =
                [(&*frames, taken.cut), (&other, second.cut)].map(|(frames, cut)| Stack { frames, cut });
            let difference = Difference::of(own, asgct);
            let differ = !matches!(difference, Difference::Same | Difference::Neither);
            let refuted = differ && !own.frames.is_empty() && self.is_refuted(head, own, jvm);
            let other_refuted = differ && !asgct.frames.is_empty() && self.is_refuted(head, asgct, jvm);
            if second.origin.compared {
                self.agreement.count(difference, refuted, other_refuted);
            }
            // That there is no Java is the thread's own word, by state and anchor; AsyncGetCallTrace looks at the registers before, and
            // may fail at that. Else, where neither has a stack, it is AsyncGetCallTrace's reason that is known by its name.
            let no_java = taken.answer.is_err_and(Reason::is_outside)
                && second.answer.is_err_and(|why| !why.is_in_java());
            if taken.answer.is_err() && !no_java || refuted && second.answer.is_ok() && !other_refuted {
                swap(frames, &mut other);
                taken = second;
            }
            self.other = other;
        }
        taken.answer.map_err(|why| (why, taken.pc))?;
        self.agreement.taken(taken.origin.walker);
        Ok((Began::of(&taken, jvm), taken.cut))
    }

    /// True if proof speaks against this walk of a sample.
    fn is_refuted(&mut self, head: &Head, walk: Stack<'_>, jvm: &mut dyn Jvm) -> bool {
        self.meant.clear();
        jvm.meant(walk.frames, head.time, &mut self.meant);
        self.refutes(head, walk.cut, Verdict::is_refuted, jvm)
    }
}
