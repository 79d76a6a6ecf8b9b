//! Implements `vouch top --callers METHOD` and `--callees METHOD`: the methods right below or above
//! a method, with the time that they have in common with it.
//!
//! It must never count a neighbour twice for one sample, however often a recursion repeats it.

use std::cmp::Reverse;
use std::collections::HashMap;

use clap::Args;
use regex_lite::Regex;

use crate::error::Error;
use crate::profile::{Profile, Sample};
use crate::sample_filter::frames::functions_with;
use crate::tally::Rows;

/// The options that choose the neighbours of a method.
#[derive(Debug, Args)]
pub struct NeighbourOptions {
    /// List the callers of methods that match, such as 'HashMap\.get$'
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["by", "sort", "callees"])]
    callers: Option<Regex>,
    /// List the callees of methods that match
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["by", "sort"])]
    callees: Option<Regex>,
}

/// The side of a method at which its neighbours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Callers,
    Callees,
}

impl Side {
    /// Returns the heading of the column with the neighbours' names.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Callers => "called by",
            Self::Callees => "calls",
        }
    }

    /// Returns the name of the row for samples in which the method has no such neighbour.
    fn end(self) -> &'static str {
        match self {
            Self::Callers => "[no caller: the outermost frame]",
            Self::Callees => "[no callee: the method itself]",
        }
    }
}

impl NeighbourOptions {
    /// Returns the chosen side, with the pattern of the method's name.
    pub fn chosen(&self) -> Option<(Side, &Regex)> {
        let callers = self.callers.as_ref().map(|regex| (Side::Callers, regex));
        callers.or_else(|| self.callees.as_ref().map(|regex| (Side::Callees, regex)))
    }
}

/// The neighbours of a method.
#[derive(Debug)]
pub struct Neighbours {
    pub side: Side,
    /// The names of the methods that match, in alphabetical order.
    pub methods: Vec<String>,
    /// The weight of samples with one of these methods.
    pub weight: u64,
    /// Each neighbour, with the weight of the samples that have it, the largest first.
    pub rows: Vec<(String, u64)>,
}

impl Neighbours {
    /// Counts the neighbours on one side of the methods with a match. With `by_line`, each line of
    /// a neighbour is a row.
    pub fn count(
        profile: &Profile,
        samples: &[Sample],
        (side, regex): (Side, &Regex),
        by_line: bool,
    ) -> Result<Self, Error> {
        let is_method = functions_with(profile, regex, |name| name);
        let rows = if by_line { Rows::lines(profile) } else { Rows::methods(profile) };
        let mut weights = vec![0; profile.stacks()];
        for sample in samples {
            weights[sample.stack] += sample.weight;
        }
        let (mut all, mut of_row) = (0, HashMap::<Option<usize>, u64>::new());
        let mut methods = vec![false; profile.functions()];
        for (stack, weight) in weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0) {
            let mut found = Vec::new();
            let mut callee = None;
            for frame in std::iter::successors(Some(stack), |frame| profile.caller(*frame)) {
                if is_method[profile.function(frame)] {
                    methods[profile.function(frame)] = true;
                    found.push(match side {
                        Side::Callers => profile.caller(frame).map(|caller| rows.row(caller)),
                        Side::Callees => callee.map(|callee| rows.row(callee)),
                    });
                }
                callee = Some(frame);
            }
            if found.is_empty() {
                continue;
            }
            all += weight;
            found.sort_unstable();
            found.dedup();
            for row in found {
                *of_row.entry(row).or_default() += weight;
            }
        }
        if all == 0 {
            return Err(Error::NoSuchMethod(regex.to_string()));
        }
        let name =
            |row: Option<usize>| row.map_or_else(|| side.end().to_owned(), |row| rows.names[row].clone());
        let mut found: Vec<(String, u64)> =
            of_row.into_iter().map(|(row, weight)| (name(row), weight)).collect();
        found.sort_by(|(one, first), (other, second)| (Reverse(first), one).cmp(&(Reverse(second), other)));
        let methods = (0..profile.functions()).filter(|function| methods[*function]);
        let mut methods: Vec<String> = methods.map(|it| profile.function_name(it).to_owned()).collect();
        methods.sort();
        methods.dedup();
        Ok(Self { side, methods, weight: all, rows: found })
    }
}
