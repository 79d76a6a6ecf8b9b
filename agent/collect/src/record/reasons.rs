//! Counts the reasons why stacks are plausible and not proven.

use std::collections::BTreeMap;

use vouch_recording::Certainty;
use vouch_report::{
    APPROXIMATE_TOP_FRAME, COMPILED_BEFORE_ATTACH, FRAMES_LEFT_OUT, PlausibleReport, TOP_FRAME_PUT_BACK,
    UNKNOWN_TOP_FRAME, WITHOUT_DEBUG_INFO, float,
};
use vouch_verify::proof::Explanation;

use super::recovered::Leaf;
use super::top_frames::TopKnown;
use crate::jvm::DebugInfoAt;

/// A set of reasons why a stack is not proven: a bit for each [`Explanation`] in its order, then
/// one for each of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reasons(u32);

/// The names of the reasons that are not explanations of an edge, in the order of their bits.
const OTHERS: [&str; 6] = [
    FRAMES_LEFT_OUT,
    APPROXIMATE_TOP_FRAME,
    UNKNOWN_TOP_FRAME,
    TOP_FRAME_PUT_BACK,
    COMPILED_BEFORE_ATTACH,
    WITHOUT_DEBUG_INFO,
];

impl Reasons {
    /// The reason that frames are missing in the stack.
    pub const CUT: Self = Self::other(0);
    const APPROXIMATE: Self = Self::other(1);
    const UNKNOWN_TOP: Self = Self::other(2);
    const PUT_BACK: Self = Self::other(3);
    const COMPILED_BEFORE: Self = Self::other(4);
    const WITHOUT_DEBUG_INFO: Self = Self::other(5);

    const fn other(at: usize) -> Self {
        Self(1 << (Explanation::ALL.len() + at))
    }

    pub fn explained(explanation: Explanation) -> Self {
        Self(Explanation::ALL.iter().position(|each| *each == explanation).map_or(0, |at| 1 << at))
    }

    /// Returns the reasons that the top frame of a stack adds.
    pub fn top(leaf: Leaf, known: TopKnown) -> Self {
        let by_code = match (known.certainty, known.described) {
            (Certainty::Approximate, DebugInfoAt::AllInstructions) => Self::APPROXIMATE,
            (Certainty::Approximate, DebugInfoAt::SafepointsUntilAttach) => Self::COMPILED_BEFORE,
            (Certainty::Approximate, DebugInfoAt::SafepointsByFlag) => Self::WITHOUT_DEBUG_INFO,
            _ => Self::default(),
        };
        match leaf {
            Leaf::Lost | Leaf::Unsure => Self::UNKNOWN_TOP,
            Leaf::PutBack => Self::PUT_BACK.and(by_code),
            Leaf::Walked => by_code,
        }
    }

    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn is_one(self) -> bool {
        self.0.is_power_of_two()
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        let names = Explanation::ALL.iter().map(|explanation| explanation.name()).chain(OTHERS);
        names.enumerate().filter(move |(at, _)| self.0 & (1 << at) != 0).map(|(_, name)| name)
    }
}

/// The number of samples with each set of reasons, and their weight in intervals.
#[derive(Debug, Default)]
pub struct ReasonCounts(BTreeMap<Reasons, (u64, u64)>);

impl ReasonCounts {
    pub fn add(&mut self, reasons: Reasons, weight: u32) {
        let (samples, sum) = self.0.entry(reasons).or_default();
        *samples += 1;
        *sum += u64::from(weight);
    }

    /// Returns the counts of samples by the name of the reason. A sample with several reasons
    /// counts for each of them, but not in `alone_ms`.
    pub fn report(&self, interval_ms: f64) -> BTreeMap<String, PlausibleReport> {
        let mut report = BTreeMap::<String, PlausibleReport>::new();
        for (reasons, (samples, weight)) in &self.0 {
            for name in reasons.names() {
                let row = report.entry(name.to_owned()).or_default();
                let weight_ms = float(*weight) * interval_ms;
                row.samples += samples;
                row.weight_ms += weight_ms;
                row.alone_ms += if reasons.is_one() { weight_ms } else { 0.0 };
            }
        }
        report
    }
}
