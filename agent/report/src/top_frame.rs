//! The certainty of the top frames of stacks.

use serde::{Deserialize, Serialize};
use vouch_recording::{Certainty, Recording};

use crate::time::intervals_ms;

/// The samples with a proven or plausible stack, by the certainty of their top frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TopFrameReport {
    /// Samples for which the methods on top and the line are certain.
    pub exact: Counted,
    /// Samples for which the methods on top are certain, but the line is not.
    pub method_certain: Counted,
    /// Samples for which the methods on top are only the best guess.
    pub approximate: Counted,
    /// Samples without information about the code on top, as in recordings of other profilers and
    /// in old ones.
    pub not_judged: Counted,
}

/// A number of samples, and their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    pub samples: u64,
    /// The time of the samples. Null if samples count no time.
    pub weight_ms: Option<f64>,
}

impl TopFrameReport {
    pub(crate) fn from_recording(recording: &Recording, interval_ns: u64) -> Self {
        let sums = recording.top_frames();
        let counted = |certainty| {
            let (samples, weight) = sums.get(&certainty).copied().unwrap_or_default();
            Counted { samples, weight_ms: Some(intervals_ms(weight, interval_ns)) }
        };
        Self {
            exact: counted(Some(Certainty::Exact)),
            method_certain: counted(Some(Certainty::MethodCertain)),
            approximate: counted(Some(Certainty::Approximate)),
            not_judged: counted(None),
        }
    }

    /// Returns the counts without their times, for samples that count no time.
    #[must_use]
    pub fn without_time(self) -> Self {
        let counted = |Counted { samples, .. }| Counted { samples, weight_ms: None };
        let Self { exact, method_certain, approximate, not_judged } = self;
        Self {
            exact: counted(exact),
            method_certain: counted(method_certain),
            approximate: counted(approximate),
            not_judged: counted(not_judged),
        }
    }
}
