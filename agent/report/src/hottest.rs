//! The methods with the most time, for the summary.
//!
//! The report has no key for them, because `vouch top` finds the same methods in the profile.

use std::cmp::Reverse;
use std::collections::HashMap;

use vouch_recording::{Recording, Thread, WeightSum};

use crate::text::percent;
use crate::time::float;

/// How many methods the summary names.
const MAX_METHODS: usize = 3;

/// The Java methods with the most self time.
#[derive(Debug, Clone, Default)]
pub struct Hottest {
    /// Names and weights, by descending weight.
    methods: Vec<(String, u64)>,
    /// All samples that the profile shows. As in `vouch top`, shares are shares of their weight.
    pub all: WeightSum,
}

impl Hottest {
    pub(crate) fn from_recording(recording: &Recording) -> Self {
        let (mut all, mut by_func) = (WeightSum::default(), HashMap::<_, u64>::new());
        for sample in recording.threads().iter().flat_map(Thread::samples) {
            all.add(sample.weight.into());
            let func = recording.frames().get(recording.stacks().get(sample.stack).frame).func;
            *by_func.entry(func).or_default() += u64::from(sample.weight);
        }
        // Overloads, and the frames of refuted stacks, have separate functions with the same name.
        let mut by_name = HashMap::<_, u64>::new();
        for (func, weight) in by_func {
            let row = recording.funcs().get(func);
            if row.java {
                *by_name.entry(row.name).or_default() += weight;
            }
        }
        let name = |id| recording.strings().get(id);
        let mut methods: Vec<_> = by_name.into_iter().map(|(id, weight)| (name(id), weight)).collect();
        methods.sort_unstable_by_key(|&(name, weight)| (Reverse(weight), name));
        methods.truncate(MAX_METHODS);
        let methods = methods.into_iter().map(|(name, weight)| (name.to_owned(), weight)).collect();
        Self { methods, all }
    }

    /// Returns text such as `A.a 24.6 %, B.b 14.6 %`. `None` if no sample is in a Java method.
    pub(crate) fn shares(&self) -> Option<String> {
        let share = |weight: u64| percent(100.0 * float(weight) / float(self.all.weight));
        let methods = self.methods.iter().map(|(name, weight)| format!("{name} {}", share(*weight)));
        let methods: Vec<String> = methods.collect();
        (!methods.is_empty()).then(|| methods.join(", "))
    }
}
