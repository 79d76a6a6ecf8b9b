//! Shows virtual threads as separate threads, each with its samples from all of its carriers.
//!
//! A recording has each sample in the carrier that was interrupted. This module shows the same
//! samples by virtual thread, and must never lose a sample or CPU time. The exception is the CPU
//! time of a virtual thread's only sample beyond that sample's weight.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::contexts::{UNKNOWN, UNNAMED};
use crate::fate::Fate;
use crate::ids::{ContextId, Id, StringId};
use crate::recording::Recording;
use crate::rows::Leaf;
use crate::thread::{Refuted, Sample, StoredSample, Thread};

/// The bit that is set in the `tid` of a virtual thread, which has no number in the kernel. The
/// other bits are its id in Java.
pub const VIRTUAL_TID_BIT: u64 = 1 << 63;

/// The threads of a recording, with virtual threads apart from their carriers.
#[derive(Debug, Default)]
pub struct SplitThreads {
    /// The carriers without the samples that were moved to virtual threads, by their row in the
    /// recording.
    carriers: BTreeMap<usize, Thread>,
    virtuals: Vec<Thread>,
}

impl SplitThreads {
    /// Moves the samples of the `max` busiest virtual threads from their carriers to separate
    /// threads.
    pub fn by_virtual_thread(recording: &Recording, max: usize, interval_ns: u64) -> Self {
        let mut split = Self::default();
        if max == 0 {
            return split;
        }
        let busiest = Busiest::find(recording, max);
        let mut of_virtual: HashMap<StringId, Part> = HashMap::new();
        for (row, thread) in recording.threads().iter().enumerate() {
            if !thread.samples_in_contexts().any(|(_, context)| busiest.virtual_thread_of(context).is_some())
            {
                continue;
            }
            let mut samples: Vec<_> = thread.samples_in_contexts().collect();
            samples.sort_by_key(|(sample, _)| sample.time_ns);
            let (mut rest, mut moved, mut clock_ns) = (Part::default(), HashMap::new(), None);
            for (stored, context) in samples {
                // The CPU time since the carrier's sample before, of whichever virtual thread. For
                // the carrier's first sample only its weight is known. The clocks of threads that
                // share a row may differ a little.
                let ran_ns = match clock_ns.replace(stored.cpu_ns.max(clock_ns.unwrap_or(0))) {
                    Some(before) => stored.cpu_ns.saturating_sub(before),
                    None => interval_ns.saturating_mul(stored.weight.into()).min(stored.cpu_ns),
                };
                let owner = busiest.virtual_thread_of(context);
                if let Some(owner) = owner {
                    moved.insert((stored.time_ns, stored.stack), owner);
                }
                let part = owner.map_or(&mut rest, |owner| of_virtual.entry(owner).or_default());
                let Leaf { trust, .. } = recording.leaf_of(stored.stack);
                let StoredSample { time_ns, stack, weight, .. } = *stored;
                part.samples.push(Sample { time_ns, cpu_ns: ran_ns, stack, weight, trust, context });
            }
            for refuted in thread.refuted() {
                let owner = moved.get(&(refuted.time_ns, refuted.stack));
                let part = owner.map_or(&mut rest, |owner| of_virtual.entry(*owner).or_default());
                part.refuted.push(*refuted);
            }
            split.carriers.insert(row, rest.fill(recording, thread.emptied(), interval_ns));
        }
        for (number, name) in busiest.names {
            let part = of_virtual.remove(&number);
            split.virtuals.extend(part.map(|part| part.thread(recording, number, name, interval_ns)));
        }
        split
    }

    /// Returns all threads: those of the recording in their order, then the virtual threads.
    pub fn threads<'r>(&'r self, recording: &'r Recording) -> Vec<&'r Thread> {
        let threads = recording.threads().iter().enumerate();
        let threads = threads.map(|(row, thread)| self.carriers.get(&row).unwrap_or(thread));
        threads.chain(&self.virtuals).collect()
    }
}

/// The samples of one virtual thread or carrier, until they are added to its thread.
#[derive(Default)]
struct Part {
    /// The samples. Each has its CPU time in `cpu_ns`, instead of the reading of a clock.
    samples: Vec<Sample>,
    refuted: Vec<Refuted>,
}

impl Part {
    /// Makes a virtual thread with these samples. `number` is its id in Java.
    fn thread(
        mut self,
        recording: &Recording,
        number: StringId,
        name: Option<StringId>,
        interval_ns: u64,
    ) -> Thread {
        self.samples.sort_by_key(|sample| sample.time_ns);
        let number = recording.strings().get(number);
        let name = name.map_or_else(
            || format!("virtual thread {number}"),
            |name| recording.strings().get(name).to_owned(),
        );
        let began_ns = self
            .samples
            .first()
            .map_or(0, |first| first.time_ns.saturating_sub(interval_ns.saturating_mul(first.weight.into())));
        let mut thread = Thread::new(&name, VIRTUAL_TID_BIT | number.parse().unwrap_or(0), began_ns);
        thread.ended_ns = self.samples.last().map(|last| last.time_ns + 1);
        self.fill(recording, thread, interval_ns)
    }

    /// Adds these samples to a thread. The CPU time of the first sample is limited to its weight,
    /// and the rest counts in the next sample.
    fn fill(self, recording: &Recording, mut thread: Thread, interval_ns: u64) -> Thread {
        let (mut clock_ns, mut over_ns) = (0, 0);
        for (at, sample) in self.samples.into_iter().enumerate() {
            let stands_for = interval_ns.saturating_mul(sample.weight.into());
            let ran_ns = sample.cpu_ns + std::mem::take(&mut over_ns);
            if at == 0 {
                over_ns = ran_ns.saturating_sub(stands_for);
            }
            clock_ns += ran_ns - over_ns;
            let fate = Fate::new(recording.mode(recording.leaf(sample.stack)), sample.trust);
            thread.push(Sample { cpu_ns: clock_ns, ..sample }, fate);
        }
        for refuted in self.refuted {
            thread.refute(refuted);
        }
        thread
    }
}

/// The busiest virtual threads of a recording, and which contexts belong to them.
struct Busiest {
    /// The id in Java of each virtual thread, and the last name that it had.
    names: Vec<(StringId, Option<StringId>)>,
    /// The id in Java of the virtual thread that each context belongs to, by the context's row. It
    /// is `None` for other contexts and for less busy virtual threads.
    owners: Vec<Option<StringId>>,
}

impl Busiest {
    fn find(recording: &Recording, max: usize) -> Self {
        let contexts = recording.contexts();
        let text = |id: StringId| recording.strings().get(id);
        // The weight and the name of each virtual thread.
        let mut found: HashMap<StringId, (u64, Option<StringId>)> = HashMap::new();
        let mut owners = Vec::with_capacity(contexts.rows().len());
        for id in contexts.ids() {
            let carried = contexts.virtual_thread_of(Some(id)).and_then(|id| {
                match contexts.get(id).values.as_slice() {
                    // A context without an id stands for several virtual threads.
                    [name, number] if text(*number).parse::<u64>().is_ok() => Some((*name, *number)),
                    _ => None,
                }
            });
            owners.push(carried.map(|(_, number)| number));
            let Some((name, number)) = carried else { continue };
            let (weight, named) = found.entry(number).or_default();
            *weight += contexts.weight_of(id).weight;
            *named = Some(name).filter(|name| ![UNNAMED, UNKNOWN].contains(&text(*name))).or(*named);
        }
        let mut busiest: Vec<_> = found.into_iter().collect();
        busiest.sort_unstable_by_key(|(number, (weight, _))| (Reverse(*weight), number.row()));
        busiest.truncate(max);
        let names: Vec<_> = busiest.into_iter().map(|(number, (_, name))| (number, name)).collect();
        let kept: HashSet<StringId> = names.iter().map(|(number, _)| *number).collect();
        for owner in &mut owners {
            *owner = owner.filter(|number| kept.contains(number));
        }
        Self { names, owners }
    }

    fn virtual_thread_of(&self, context: Option<ContextId>) -> Option<StringId> {
        self.owners[context?.row()]
    }
}
