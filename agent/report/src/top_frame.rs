//! How certain the top frames of stacks are.

use serde::{Deserialize, Serialize};
use vouch_recording::{Certainty, Recording};

use crate::time::intervals_ms;

/// The samples of proven and plausible stacks, by the certainty of their top frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TopFrameReport {
    /// The methods and the line are certain.
    pub exact: Counted,
    /// The methods are certain, the line is not.
    pub method_certain: Counted,
    /// The methods on top are the best guess.
    pub approximate: Counted,
    /// Nothing is known about the code, as in another profiler's recording or in an old one.
    pub not_judged: Counted,
}

/// A number of samples, and their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    pub samples: u64,
    /// Null if samples count no time.
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

    /// Removes the times, for samples that count none.
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
