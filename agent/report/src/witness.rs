//! What witnesses found: samples that were compared with GetStackTrace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::proof::{RefutationReport, WitnessPower};

/// Samples that were compared with GetStackTrace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WitnessReport {
    pub asked: u64,
    /// The thread did not run between walk and witness: every frame was compared.
    pub exact: GradeReport,
    /// The thread ran to its next safepoint poll: every frame outside of its topmost compiled frame
    /// was compared.
    pub all_but_top: GradeReport,
    /// The thread may have run anywhere: only the roots were compared.
    pub root_only: GradeReport,
    /// Why only the roots were compared: `late` (the handler did not see that the thread would
    /// stop), `unplaced` (the code on top is unknown), `elsewhere` (the walk has another method
    /// there), `top_alone` (there is no other frame), `carrier` (a virtual thread was mounted).
    pub root_only_because: BTreeMap<String, u64>,
    /// Threads that had no stack any more.
    pub gone: u64,
    /// Samples that agree with a witness of the grades `exact` and `all_but_top`, by the fate that
    /// proof alone had found.
    pub confirmed: BTreeMap<String, u64>,
    /// Samples that differ from such a witness, by the same fates.
    pub contradicted: BTreeMap<String, u64>,
    /// The most frequent contradictions, with both stacks.
    pub contradictions: Vec<RefutationReport>,
    /// How many differed in each way. What begins with `root_` is about roots.
    pub differences: BTreeMap<String, u64>,
    /// How many corrupted stacks proof, the witness, and the two together noticed, by corruption.
    pub power: BTreeMap<String, WitnessPower>,
    /// CPU time of the agent for all witnesses, the same again for the threads that walked for
    /// them, and the wall time for which threads were kept.
    pub took_ms: f64,
    pub longest_ms: f64,
    /// The wall time alone for which threads were kept.
    pub stayed_ms: f64,
    pub longest_stay_ms: f64,
}

/// The witnesses of one grade.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeReport {
    pub asked: u64,
    /// Witnesses without a difference.
    pub agreed: u64,
    /// Frames that were compared, and frames that were not.
    pub frames: u64,
    pub frames_left_out: u64,
}

impl GradeReport {
    /// Counts a witness with this many differences, of a walk with this many frames. The first
    /// `left_out` frames were not compared.
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
