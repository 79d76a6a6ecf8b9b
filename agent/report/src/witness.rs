//! The report's part about witnesses: samples that were compared with GetStackTrace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::proof::{RefutationReport, WitnessPower};

/// The results of comparing samples with GetStackTrace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WitnessReport {
    pub asked: u64,
    /// Witnesses that compare every frame. The thread did not run between walk and witness.
    pub exact: GradeReport,
    /// Witnesses that compare every frame except for the topmost compiled one. The thread ran to
    /// its next safepoint poll.
    pub all_but_top: GradeReport,
    /// Witnesses that compare only the roots. The thread may have run anywhere.
    pub root_only: GradeReport,
    /// Reasons for comparing only the roots: `late` (the handler did not see that the thread would
    /// stop), `unplaced` (the code on top is unknown), `elsewhere` (the walk has another method
    /// there), `top_alone` (the stack has no other frame), `carrier` (a virtual thread was
    /// mounted).
    pub root_only_because: BTreeMap<String, u64>,
    /// Threads that had ended before GetStackTrace.
    pub gone: u64,
    /// Samples that agree with a witness of the grades `exact` and `all_but_top`, by the fate that
    /// proof alone gave them.
    pub confirmed: BTreeMap<String, u64>,
    /// Samples that differ from a witness of these grades, by the same fates.
    pub contradicted: BTreeMap<String, u64>,
    /// The most frequent contradictions, with both stacks.
    pub contradictions: Vec<RefutationReport>,
    /// Differences by their kind. Kinds that begin with `root_` are about roots.
    pub differences: BTreeMap<String, u64>,
    /// The power of proof and of witnesses, by corruption.
    pub power: BTreeMap<String, WitnessPower>,
    /// The cost of all witnesses. It is the agent's CPU time, as much again for the threads that
    /// GetStackTrace stopped, and the wall-clock time for which handlers slept.
    pub took_ms: f64,
    /// The highest cost of one witness.
    pub longest_ms: f64,
    /// The wall-clock time for which handlers slept.
    pub stayed_ms: f64,
    /// The longest sleep of one handler.
    pub longest_stay_ms: f64,
}

/// The witnesses of one grade.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeReport {
    pub asked: u64,
    /// Witnesses without a difference.
    pub agreed: u64,
    /// Frames that were compared.
    pub frames: u64,
    /// Frames that were not compared.
    pub frames_left_out: u64,
}

impl GradeReport {
    /// Counts a witness of a walk with `frames` frames. The first `left_out` of them were not
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
    /// Counts a difference.
    pub fn difference(&mut self, kind: &str) {
        *self.differences.entry(kind.to_owned()).or_default() += 1;
    }
}
