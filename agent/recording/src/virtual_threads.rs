//! Virtual threads as threads of their own: the samples that they were carried for, from all of
//! their carriers.
//!
//! It is a way to show a recording, which has every sample where it was taken: it must never lose
//! one, nor CPU time, but for what a virtual thread's only sample ran beyond what it stands for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::contexts::{UNKNOWN, UNNAMED};
use crate::ids::{ContextId, Id, StringId};
use crate::recording::Recording;
use crate::thread::{Refuted, Sample, Stored, Thread};

/// What is in the place of the kernel's number for a thread that the kernel does not know: this
/// bit, and Java's id.
pub const VIRTUAL: u64 = 1 << 63;

/// The threads, and of these the virtual ones.
#[derive(Debug, Default)]
pub struct Apart {
    /// By their row in the recording: carriers without what was moved away from them.
    carriers: BTreeMap<usize, Thread>,
    virtuals: Vec<Thread>,
}

impl Apart {
    /// The busiest virtual threads, so many at most, each with the samples that it was carried for.
    /// An interval is so long.
    pub fn of(recording: &Recording, most: usize, interval_ns: u64) -> Self {
        let mut apart = Self::default();
        if most == 0 {
            return apart;
        }
        let busiest = Busiest::of(recording, most);
        let mut of_virtual: HashMap<StringId, Part> = HashMap::new();
        for (row, thread) in recording.threads().iter().enumerate() {
            if !thread.samples_in_contexts().any(|(_, context)| busiest.whose(context).is_some()) {
                continue;
            }
            let mut samples: Vec<_> = thread.samples_in_contexts().collect();
            samples.sort_by_key(|(sample, _)| sample.time_ns);
            let (mut rest, mut moved, mut clock_ns) = (Part::default(), HashMap::new(), None);
            for (stored, context) in samples {
                // What it ran since the sample before, whoever that was of; of the first it is
                // known what it stands for. The clock of a row that threads share may stand a
                // little askew.
                let ran_ns = match clock_ns.replace(stored.cpu_ns.max(clock_ns.unwrap_or(0))) {
                    Some(before) => stored.cpu_ns.saturating_sub(before),
                    None => interval_ns.saturating_mul(stored.weight.into()).min(stored.cpu_ns),
                };
                let whose = busiest.whose(context);
                if let Some(whose) = whose {
                    moved.insert((stored.time_ns, stored.stack), whose);
                }
                let part = whose.map_or(&mut rest, |whose| of_virtual.entry(whose).or_default());
                let frame = recording.stacks().get(stored.stack).frame;
                let fate = recording.fate_of(recording.frames().get(frame));
                let Stored { time_ns, stack, weight, .. } = *stored;
                part.samples.push(Sample { time_ns, cpu_ns: ran_ns, stack, weight, fate, context });
            }
            for refuted in thread.refuted() {
                let whose = moved.get(&(refuted.time_ns, refuted.stack));
                let part = whose.map_or(&mut rest, |whose| of_virtual.entry(*whose).or_default());
                part.refuted.push(*refuted);
            }
            apart.carriers.insert(row, rest.fill(thread.emptied(), interval_ns));
        }
        for (number, name) in busiest.names {
            let part = of_virtual.remove(&number);
            apart.virtuals.extend(part.map(|part| part.thread(recording, number, name, interval_ns)));
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

/// What there is of one thread.
#[derive(Default)]
struct Part {
    /// Each has what was run for it in the place of its thread's clock.
    samples: Vec<Sample>,
    refuted: Vec<Refuted>,
}

impl Part {
    /// As a virtual thread with this number, under this name if it has one.
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
        let mut thread = Thread::new(&name, VIRTUAL | number.parse().unwrap_or(0), began_ns);
        thread.ended_ns = self.samples.last().map(|last| last.time_ns + 1);
        self.fill(thread, interval_ns)
    }

    /// Puts all of it into a thread. Nobody knows more of a first sample than what it stands for:
    /// what it ran beyond that goes to the next.
    fn fill(self, mut thread: Thread, interval_ns: u64) -> Thread {
        let (mut clock_ns, mut over_ns) = (0, 0);
        for (at, sample) in self.samples.into_iter().enumerate() {
            let stands_for = interval_ns.saturating_mul(sample.weight.into());
            let ran_ns = sample.cpu_ns + std::mem::take(&mut over_ns);
            if at == 0 {
                over_ns = ran_ns.saturating_sub(stands_for);
            }
            clock_ns += ran_ns - over_ns;
            thread.push(Sample { cpu_ns: clock_ns, ..sample });
        }
        for refuted in self.refuted {
            thread.refute(refuted);
        }
        thread
    }
}

/// The busiest virtual threads.
struct Busiest {
    /// The number of each, and the name that it had last.
    names: Vec<(StringId, Option<StringId>)>,
    /// By the row of a context: the number of the one that it is the work of, if it is one of them.
    whose: Vec<Option<StringId>>,
}

impl Busiest {
    fn of(recording: &Recording, most: usize) -> Self {
        let contexts = recording.contexts();
        let text = |id: StringId| recording.strings().get(id);
        // What each weighs, and its name.
        let mut met: HashMap<StringId, (u64, Option<StringId>)> = HashMap::new();
        let mut whose = Vec::with_capacity(contexts.rows().len());
        for id in contexts.ids() {
            let carried =
                contexts.carried(Some(id)).and_then(|id| match contexts.get(id).values.as_slice() {
                    // What has no number is several.
                    [name, number] if text(*number).parse::<u64>().is_ok() => Some((*name, *number)),
                    _ => None,
                });
            whose.push(carried.map(|(_, number)| number));
            let Some((name, number)) = carried else { continue };
            let (weight, named) = met.entry(number).or_default();
            *weight += contexts.weighed(id).weight;
            *named = Some(name).filter(|name| ![UNNAMED, UNKNOWN].contains(&text(*name))).or(*named);
        }
        let mut busiest: Vec<_> = met.into_iter().collect();
        busiest.sort_unstable_by_key(|(number, (weight, _))| (Reverse(*weight), number.row()));
        busiest.truncate(most);
        let names: Vec<_> = busiest.into_iter().map(|(number, (_, name))| (number, name)).collect();
        let kept: HashSet<StringId> = names.iter().map(|(number, _)| *number).collect();
        for one in &mut whose {
            *one = one.filter(|number| kept.contains(number));
        }
        Self { names, whose }
    }

    fn whose(&self, context: Option<ContextId>) -> Option<StringId> {
        self.whose[context?.row()]
    }
}
