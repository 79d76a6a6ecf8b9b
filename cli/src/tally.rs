//! Counts the time of each method, or of each line, with and without its callees.
//!
//! It must never count a method twice for one sample, however often the stack or the file has it.

use std::collections::HashMap;

use crate::profile::Profile;

/// The weights of one row, in sampling intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// The weight of samples with the method on top.
    pub own: u64,
    /// The weight of samples with the method anywhere in the stack.
    pub total: u64,
    /// The weight of samples with the method on top, where that method is only a guess.
    pub uncertain: u64,
}

/// Maps the stacks of a profile to the rows of a table.
#[derive(Debug)]
pub struct Rows {
    pub names: Vec<String>,
    /// The row of each stack's top frame, by stack.
    row: Vec<usize>,
    /// For each stack: true if none of its callers has the same row.
    outermost: Vec<bool>,
}

impl Rows {
    /// Makes a row for each method, by its name. A file may have a method twice, such as for
    /// refuted stacks.
    pub fn methods(profile: &Profile) -> Self {
        Self::named(profile, |profile, stack| profile.function_name(profile.function(stack)).to_owned())
    }

    /// Makes a row for each line of a method in which code ran.
    pub fn lines(profile: &Profile) -> Self {
        Self::named(profile, |profile, stack| {
            let name = profile.function_name(profile.function(stack));
            profile.line(stack).map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"))
        })
    }

    /// Makes a row for each name.
    pub fn named(profile: &Profile, name: impl Fn(&Profile, usize) -> String) -> Self {
        let (mut names, mut known, mut of_frame) = (Vec::new(), HashMap::new(), HashMap::new());
        let row = (0..profile.stacks()).map(|stack| {
            *of_frame.entry(profile.frame(stack)).or_insert_with(|| {
                let name = name(profile, stack);
                *known.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() - 1
                })
            })
        });
        let row: Vec<usize> = row.collect();
        let outermost = outermost(profile, &row, names.len());
        Self { names, row, outermost }
    }

    /// Returns the row of a stack's top frame.
    pub fn row(&self, stack: usize) -> usize {
        self.row[stack]
    }

    /// Returns the time of each row, from the weight of each stack.
    pub fn count(&self, profile: &Profile, mut of_stack: Vec<u64>) -> Vec<Time> {
        let mut times = vec![Time::default(); self.names.len()];
        for (stack, weight) in of_stack.iter().enumerate() {
            let time = &mut times[self.row[stack]];
            time.own += weight;
            time.uncertain += if profile.is_top_uncertain(stack) { *weight } else { 0 };
        }
        // Callers come before their callees. So going backwards adds the weight of all callees to
        // each stack.
        for stack in (0..of_stack.len()).rev() {
            let weight = of_stack[stack];
            if weight > 0 && self.outermost[stack] {
                times[self.row[stack]].total += weight;
            }
            if let Some(caller) = profile.caller(stack) {
                of_stack[caller] += weight;
            }
        }
        times
    }
}

/// Finds for each stack whether its row occurs there for the first time from the root.
fn outermost(profile: &Profile, row: &[usize], rows: usize) -> Vec<bool> {
    let mut callees = vec![Vec::new(); row.len()];
    let mut next = Vec::new();
    for stack in 0..row.len() {
        match profile.caller(stack) {
            Some(caller) => callees[caller].push(stack),
            None => next.push(stack),
        }
    }
    let (mut outermost, mut below, mut path) = (vec![false; row.len()], vec![0_u32; rows], Vec::new());
    while let Some(stack) = next.pop() {
        while path.last().is_some_and(|last| profile.caller(stack) != Some(*last)) {
            path.pop().into_iter().for_each(|left: usize| below[row[left]] -= 1);
        }
        outermost[stack] = below[row[stack]] == 0;
        below[row[stack]] += 1;
        path.push(stack);
        next.append(&mut callees[stack]);
    }
    outermost
}
