//! Counts how the stacks of Vouch's walker and AsyncGetCallTrace differ for one sample. It counts
//! which of them proof refutes, and which one is recorded.
//!
//! This module must never choose between the two stacks: the recorder does that.

use std::collections::BTreeMap;

use vouch_report::AgreementReport;
use vouch_sample::{Frame, Stack};

/// How the two walkers' stacks of a sample differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    Same,
    /// The methods of the two stacks are equal, but a bci differs.
    Line,
    /// AsyncGetCallTrace's stack begins or ends with the other one, and has more frames.
    AsgctLonger,
    OwnLonger,
    /// The methods of the two stacks differ.
    Method,
    /// Only AsyncGetCallTrace has a stack.
    AsgctAlone,
    OwnAlone,
    /// Neither walker has a stack.
    Neither,
}

impl Difference {
    /// Compares the stacks that the two walkers found for a sample. If one is cut, only the
    /// innermost frames that both have are compared. Both stacks must reach the cut for that.
    pub fn compare(own: Stack<'_>, asgct: Stack<'_>) -> Self {
        let cut = [own, asgct].iter().filter_map(|stack| stack.cut).map(|cut| cut.at as usize).min();
        let both = cut.filter(|at| own.frames.len().min(asgct.frames.len()) >= *at).unwrap_or(usize::MAX);
        let [own, asgct] = [own, asgct].map(|stack| &stack.frames[..stack.frames.len().min(both)]);
        let holds = |long: &[Frame], short: &[Frame]| {
            long.len() > short.len() && (long.starts_with(short) || long.ends_with(short))
        };
        let methods = |frames: &[Frame]| frames.iter().map(|frame| frame.method()).collect::<Vec<_>>();
        match (own, asgct) {
            ([], []) => Self::Neither,
            _ if own == asgct => Self::Same,
            (_, []) => Self::OwnAlone,
            ([], _) => Self::AsgctAlone,
            _ if holds(asgct, own) => Self::AsgctLonger,
            _ if holds(own, asgct) => Self::OwnLonger,
            _ if asgct.len() == own.len() && methods(asgct) == methods(own) => Self::Line,
            _ => Self::Method,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Line => "other_line",
            Self::AsgctLonger => "asgct_longer",
            Self::OwnLonger => "own_longer",
            Self::Method => "other_method",
            Self::AsgctAlone => "asgct_alone",
            Self::OwnAlone => "own_alone",
            Self::Neither => "neither",
        }
    }
}

/// Counts of the differences between the two walkers' stacks, and of the samples recorded by each
/// walker.
#[derive(Debug, Default)]
pub struct Agreement {
    differences: BTreeMap<Difference, AgreementReport>,
    /// The number of samples that were recorded with each walker's stack, by the walker's number.
    taken: [u64; 2],
}

impl Agreement {
    /// Counts a sample for which two walkers found stacks, how these differ, and which of them
    /// proof refutes.
    pub fn count(&mut self, difference: Difference, own_refuted: bool, asgct_refuted: bool) {
        let row = self.differences.entry(difference).or_default();
        row.samples += 1;
        row.own_refuted += u64::from(own_refuted);
        row.asgct_refuted += u64::from(asgct_refuted);
    }

    /// Counts a sample that was recorded with this walker's stack.
    pub fn count_recorded(&mut self, walker: u8) {
        if let Some(count) = self.taken.get_mut(usize::from(walker)) {
            *count += 1;
        }
    }

    /// Returns the number of samples recorded by each walker, by the walker's name.
    pub fn walked_by(&self, walkers: &[&'static str]) -> BTreeMap<String, u64> {
        walkers.iter().zip(self.taken).map(|(name, count)| ((*name).to_owned(), count)).collect()
    }

    pub fn report(&self) -> BTreeMap<String, AgreementReport> {
        self.differences.iter().map(|(difference, row)| (difference.name().to_owned(), *row)).collect()
    }
}
