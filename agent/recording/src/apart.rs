//! Virtual threads as threads of their own: the samples that they were carried for, from all of their carriers.
//!
//! It is a way to show a recording, which has every sample where it was taken: it must never lose one, nor any of a thread's CPU time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::contexts::UNNAMED;
use crate::ids::{ContextId, Id};
use crate::recording::Recording;
use crate::thread::{Refuted, Sample, Thread};

/// What is in the place of the kernel's number for a thread that the kernel does not know: this bit, and Java's id.
pub const VIRTUAL: u64 = 1 << 63;

/// The threads, and of these the virtual ones.
#[derive(Debug, Default)]
pub struct Apart {
    /// By their row in the recording: carriers without what was moved away from them.
    carriers: BTreeMap<usize, Thread>,
    virtuals: Vec<Thread>,
}

impl Apart {
    /// The busiest virtual threads, so many at most, each with the samples that it was carried for. An interval is so long.
    pub fn of(recording: &Recording, most: usize, interval_ns: u64) -> Self {
        let busiest = Busiest::of(recording, most);
        let mut apart = Self::default();
        let mut of_virtual: HashMap<ContextId, Part> = HashMap::new();
        for (row, thread) in recording.threads().iter().enumerate() {
            let is_moved = |context| busiest.whose(context).is_some();
            if !thread.samples_in_contexts().any(|(_, context)| is_moved(context)) {
                continue;
            }
            let mut rest = thread.emptied();
            let mut samples: Vec<_> = thread.samples_in_contexts().collect();
            samples.sort_by_key(|(sample, _)| sample.time_ns);
            let (mut clock_ns, mut rest_ns, mut moved) = (None, 0, HashMap::new());
            for (stored, context) in samples {
                // What it ran since the sample before, whoever that was of; of the first it is known what it stands for.
                let ran_ns = match clock_ns.replace(stored.cpu_ns) {
                    Some(before) => stored.cpu_ns.saturating_sub(before),
                    None => interval_ns.saturating_mul(stored.weight.into()).min(stored.cpu_ns),
                };
                let fate =
                    recording.fate_of(recording.frames().get(recording.stacks().get(stored.stack).frame));
                let mut sample = Sample {
                    time_ns: stored.time_ns,
                    cpu_ns: ran_ns,
                    stack: stored.stack,
                    weight: stored.weight,
                    fate,
                    context,
                };
                if let Some(whose) = busiest.whose(context) {
                    moved.insert(stored.time_ns, whose);
                    of_virtual.entry(whose).or_default().samples.push(sample);
                } else {
                    rest_ns += ran_ns;
                    sample.cpu_ns = rest_ns;
                    rest.push(sample);
                }
            }
            for refuted in thread.refuted() {
                match moved.get(&refuted.time_ns) {
                    Some(whose) => of_virtual.entry(*whose).or_default().refuted.push(*refuted),
                    None => rest.refute(*refuted),
                }
            }
            apart.carriers.insert(row, rest);
        }
        for id in busiest.ids {
            let part = of_virtual.remove(&id);
            apart.virtuals.extend(part.map(|part| part.thread(recording, id, interval_ns)));
        }
        apart
    }

    /// All threads: in the order of the recording, and then the virtual ones.
    pub fn threads<'r>(&'r self, recording: &'r Recording) -> Vec<&'r Thread> {
        let threads = recording.threads().iter().enumerate();
        let threads = threads.map(|(row, thread)| self.carriers.get(&row).unwrap_or(thread));
        threads.chain(&self.virtuals).collect()
    }
}

/// What there is of a virtual thread.
#[derive(Default)]
struct Part {
    /// Each has what was run for it in the place of its thread's clock.
    samples: Vec<Sample>,
    refuted: Vec<Refuted>,
}

impl Part {
    fn thread(self, recording: &Recording, id: ContextId, interval_ns: u64) -> Thread {
        let Self { mut samples, refuted } = self;
        samples.sort_by_key(|sample| sample.time_ns);
        let [name, number] = [0, 1].map(|field| {
            let value = recording.contexts().get(id).values.get(field);
            value.map_or("", |value| recording.strings().get(*value))
        });
        let name = if name == UNNAMED { format!("virtual thread {number}") } else { name.to_owned() };
        let began_ns = samples
            .first()
            .map_or(0, |first| first.time_ns.saturating_sub(interval_ns.saturating_mul(first.weight.into())));
        let mut thread = Thread::new(&name, VIRTUAL | number.parse().unwrap_or(0), began_ns);
        thread.ended_ns = samples.last().map(|last| last.time_ns + 1);
        let mut clock_ns = 0;
        for sample in samples {
            clock_ns += sample.cpu_ns;
            thread.push(Sample { cpu_ns: clock_ns, ..sample });
        }
        for refuted in refuted {
            thread.refute(refuted);
        }
        thread
    }
}

/// The busiest virtual threads.
struct Busiest {
    ids: Vec<ContextId>,
    /// By the row of a context: the one that it is the work of, if it is one of them.
    whose: Vec<Option<ContextId>>,
}

impl Busiest {
    fn of(recording: &Recording, most: usize) -> Self {
        let contexts = recording.contexts();
        // What has no number is several.
        let is_one = |id: &ContextId| {
            let number = contexts.get(*id).values.get(1).map(|value| recording.strings().get(*value));
            number.is_some_and(|number| number.parse::<u64>().is_ok())
        };
        let mut whose: Vec<_> = contexts.ids().map(|id| contexts.carried(Some(id)).filter(is_one)).collect();
        let mut weights: HashMap<ContextId, u64> = HashMap::new();
        for (id, whose) in contexts.ids().zip(&whose) {
            if let Some(whose) = whose {
                *weights.entry(*whose).or_default() += contexts.weighed(id).weight;
            }
        }
        let mut ids: Vec<ContextId> = weights.keys().copied().collect();
        ids.sort_unstable_by_key(|id| (Reverse(weights[id]), id.row()));
        for left_out in ids.drain(ids.len().min(most)..) {
            weights.remove(&left_out);
        }
        for one in &mut whose {
            *one = one.filter(|id| weights.contains_key(id));
        }
        Self { ids, whose }
    }

    fn whose(&self, context: Option<ContextId>) -> Option<ContextId> {
        self.whose[context?.row()]
    }
}
