//! The report's part about witnesses. A witness is a stack from GetStackTrace that is compared with
//! a sample's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::proof::{RefutationReport, WitnessPower};

/// The results of comparing samples with stacks from GetStackTrace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WitnessReport {
    pub asked: u64,
    /// Witnesses for which every frame is compared. The thread did not run between the sample and
    /// the witness.
    pub exact: GradeReport,
    /// Witnesses for which every frame except the topmost compiled one is compared. The thread ran
    /// on to its next safepoint poll.
    pub all_but_top: GradeReport,
    /// Witnesses for which only the roots of the stacks are compared. The thread may have run any
    /// code in between.
    pub root_only: GradeReport,
    /// The number of witnesses for which only the roots were compared, by reason. The reasons are
    /// `late` (the handler did not see that the thread would stop), `unplaced` (the code on top is
    /// unknown), `elsewhere` (the walk has another method there), `top_alone` (the stack has no
    /// other frame) and `carrier` (a virtual thread was mounted).
    pub root_only_because: BTreeMap<String, u64>,
    /// The number of threads that had ended before GetStackTrace was called.
    pub gone: u64,
    /// The number of samples that agree with a witness of the grades `exact` and `all_but_top`. The
    /// keys are the fates that proof alone gave these samples.
    pub confirmed: BTreeMap<String, u64>,
    /// The number of samples that differ from a witness of the grades `exact` and `all_but_top`.
    /// The keys are the fates that proof alone gave these samples.
    pub contradicted: BTreeMap<String, u64>,
    /// The most frequent contradictions between samples and witnesses, with both stacks.
    pub contradictions: Vec<RefutationReport>,
    /// The number of differences by kind. Kinds that begin with `root_` concern roots.
    pub differences: BTreeMap<String, u64>,
    /// For each kind of deliberate corruption: how often proof, or the witness, noticed it.
    pub power: BTreeMap<String, WitnessPower>,
    /// The cost of all witnesses: the agent's CPU time, the same time again for the threads that
    /// GetStackTrace stopped, and the wall-clock time for which handlers slept.
    pub took_ms: f64,
    /// The highest cost of a single witness.
    pub longest_ms: f64,
    /// The wall-clock time for which handlers slept.
    pub stayed_ms: f64,
    /// The longest time for which one handler slept.
    pub longest_stay_ms: f64,
}

/// The witnesses of one grade.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeReport {
    pub asked: u64,
    /// The number of witnesses without a difference.
    pub agreed: u64,
    /// The number of frames that were compared.
    pub frames: u64,
    /// The number of frames that were not compared.
    pub frames_left_out: u64,
}

impl GradeReport {
    /// Counts a witness of a walk with `frames` frames. The first `left_out` frames were not
    /// compared.
    pub fn count(&mut self, differences: usize, frames: usize, left_out: usize) {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        self.asked += 1;
        self.agreed += u64::from(differences == 0);
        self.frames += number(frames.saturating_sub(left_out));
        self.frames_left_out += number(left_out);
    }
}

impl WitnessReport {
    /// Counts a difference of this kind between a sample and a witness.
    pub fn difference(&mut self, kind: &str) {
        *self.differences.entry(kind.to_owned()).or_default() += 1;
    }
}
