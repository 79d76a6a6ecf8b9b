//! Two accounts of one sample, by our own walker and by AsyncGetCallTrace: how they differ, which
//! of them proof refutes, and whose is taken.
//!
//! It counts. It must never choose between them: that is done where samples are recorded.

use std::collections::BTreeMap;

use vouch_report::AgreementReport;
use vouch_sample::{Frame, Stack};

/// How two accounts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    Same,
    /// The same methods, in one of them elsewhere.
    Line,
    /// One goes on where the other ends, or has frames on top that the other has not.
    AsgctLonger,
    OwnLonger,
    /// Other methods.
    Method,
    /// One alone has a stack.
    AsgctAlone,
    OwnAlone,
    /// None has.
    Neither,
}

impl Difference {
    /// Between our own walker's frames and AsyncGetCallTrace's. Of two that are as deep as to be
    /// cut those are compared that both have, from the leaf on; one that ends before the other is
    /// cut is not.
    pub fn of(own: Stack<'_>, asgct: Stack<'_>) -> Self {
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

/// How often they differed in which way, and how often whose was taken.
#[derive(Debug, Default)]
pub struct Agreement {
    differences: BTreeMap<Difference, AgreementReport>,
    /// By the number of the walker.
    taken: [u64; 2],
}

impl Agreement {
    /// A sample with two accounts, and which of them proof refutes.
    pub fn count(&mut self, difference: Difference, own_refuted: bool, asgct_refuted: bool) {
        let row = self.differences.entry(difference).or_default();
        row.samples += 1;
        row.own_refuted += u64::from(own_refuted);
        row.asgct_refuted += u64::from(asgct_refuted);
    }

    /// A sample has its stack by this walker.
    pub fn taken(&mut self, walker: u8) {
        if let Some(count) = self.taken.get_mut(usize::from(walker)) {
            *count += 1;
        }
    }

    /// How many samples have their stack by which of these walkers.
    pub fn walked_by(&self, walkers: &[&'static str]) -> BTreeMap<String, u64> {
        walkers.iter().zip(self.taken).map(|(name, count)| ((*name).to_owned(), count)).collect()
    }

    pub fn report(&self) -> BTreeMap<String, AgreementReport> {
        self.differences.iter().map(|(difference, row)| (difference.name().to_owned(), *row)).collect()
    }
}
