//! The methods with the most time, for the summary.
//!
//! The report has no key for them, because `vouch top` finds the same methods in the profile.

use std::cmp::Reverse;
use std::collections::HashMap;

use vouch_recording::{Recording, Thread, WeightSum};

use crate::text::percent;
use crate::time::float;

/// The summary names at most this many methods.
const MAX_METHODS: usize = 3;

/// The Java methods with the most self time. Self time is the time of samples with the method on
/// top of the stack.
#[derive(Debug, Clone, Default)]
pub struct Hottest {
    /// The names of the methods and their self times, by descending weight.
    methods: Vec<(String, SelfTime)>,
    /// The weight of all samples that the profile shows. Shares of methods are shares of it, as in
    /// `vouch top`.
    pub all: WeightSum,
}

/// The weight of all samples that have one method on top of their stacks.
#[derive(Debug, Clone, Copy, Default)]
struct SelfTime {
    weight: u64,
    /// The part of `weight` in which the method on top of the stack is a guess.
    guessed: u64,
}

impl SelfTime {
    fn add(&mut self, more: Self) {
        self.weight += more.weight;
        self.guessed += more.guessed;
    }
}

impl Hottest {
    pub(crate) fn from_recording(recording: &Recording) -> Self {
        let (mut all, mut by_func) = (WeightSum::default(), HashMap::<_, SelfTime>::new());
        for sample in recording.threads().iter().flat_map(Thread::samples) {
            all.add(sample.weight.into());
            let frame = recording.leaf(sample.stack);
            let weight = sample.weight.into();
            let guessed = if recording.is_guess(frame) { weight } else { 0 };
            let more = SelfTime { weight, guessed };
            by_func.entry(frame.func).or_default().add(more);
        }
        // Overloads, and frames of refuted stacks, are separate functions with the same name. Their
        // weights are added up by name.
        let mut by_name = HashMap::<_, SelfTime>::new();
        for (func, time) in by_func {
            let row = recording.funcs().get(func);
            if row.java {
                by_name.entry(row.name).or_default().add(time);
            }
        }
        let name = |id| recording.strings().get(id);
        let mut methods: Vec<_> = by_name.into_iter().map(|(id, time)| (name(id), time)).collect();
        methods.sort_unstable_by_key(|&(name, time)| (Reverse(time.weight), name));
        methods.truncate(MAX_METHODS);
        let methods = methods.into_iter().map(|(name, time)| (name.to_owned(), time)).collect();
        Self { methods, all }
    }

    /// Returns a text such as `A.a 24.6 %, B.b 14.6 % (mostly a guess)`. Returns `None` if no
    /// sample is in a Java method.
    pub(crate) fn shares(&self) -> Option<String> {
        let share = |weight: u64| percent(100.0 * float(weight) / float(self.all.weight));
        let methods = self.methods.iter().map(|(name, SelfTime { weight, guessed })| {
            let guess = if 2 * guessed > *weight { " (mostly a guess)" } else { "" };
            format!("{name} {}{guess}", share(*weight))
        });
        let methods: Vec<String> = methods.collect();
        (!methods.is_empty()).then(|| methods.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use vouch_recording::{Category, Certainty, Func, Leaf, Sample, Trust};

    use super::*;

    #[test]
    fn a_method_that_is_mostly_a_guess_is_marked() {
        let mut recording = Recording::new();
        let thread = recording.add_thread("main", 1, 0);
        for (name, top_frame, trust, weight) in [
            ("mostly", Certainty::Approximate, Trust::Plausible, 4),
            ("mostly", Certainty::Exact, Trust::Refuted, 2),
            ("mostly", Certainty::Exact, Trust::Proven, 5),
            ("partly", Certainty::Approximate, Trust::Plausible, 4),
            ("partly", Certainty::Exact, Trust::Plausible, 5),
        ] {
            let category = Category::Application;
            let func = Func { name, category, source: None, line: None, resource: None, java: true };
            let func = recording.func(func);
            let leaf = Leaf { trust, top_frame: Some(top_frame) };
            let frame = recording.leaf_frame(func, None, leaf);
            let stack = recording.stack(None, frame);
            recording.sample(thread, Sample { time_ns: 1, cpu_ns: 1, stack, weight, trust, context: None });
        }
        let shares = Hottest::from_recording(&recording).shares();
        assert_eq!(shares.as_deref(), Some("mostly 55.0 % (mostly a guess), partly 45.0 %"));
    }
}
