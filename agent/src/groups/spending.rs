//! The CPU time that the tasks of groups have taken, as time passes: a graph for each of the first
//! groups that take any.
//!
//! It is read off their sums now and then, by the agent's own thread. What a task took is there
//! when it has ended: one that is longer than the time between two looks is all at its end (and is
//! a marker besides). It must never take more than a hundredth of a processor, however many cells
//! there are; and what a group has while it rests must be no readings.

use std::time::Duration;

use vouch_recording::{CounterId, Recording, Unit};
use vouch_report::plain;

use super::{CPU, Groups};
use crate::clock;

/// The time between two looks, or as many times as much as a look takes of a processor.
const PAUSE: Duration = Duration::from_millis(100);
const RARE: u64 = 100;
/// Two readings are so far apart at least, or what is between them would be no rate.
const APART_NS: u64 = 1_000_000;
/// So many groups have a graph: more would be no help to anybody, and each may have half a
/// megabyte.
const MOST_SHOWN: usize = 20;

/// What was told of each group, by their numbers.
#[derive(Debug)]
pub struct Spending {
    groups: Vec<Spent>,
    shown: usize,
    looked_ns: u64,
    next_ns: u64,
}

#[derive(Debug, Default)]
struct Spent {
    counter: Option<CounterId>,
    /// What was told last, and when.
    told: u64,
    told_ns: u64,
}

impl Spending {
    /// The recording has begun.
    pub fn begin(now: u64) -> Self {
        Self { groups: Vec::new(), shown: 0, looked_ns: now, next_ns: now }
    }

    /// Looks, if it is time to.
    pub fn look(&mut self, groups: &Groups, recording: &mut Recording) {
        let now = clock::monotonic();
        if now >= self.next_ns {
            let begun = clock::own_cpu();
            self.tell(groups, recording, now);
            let took = clock::own_cpu().saturating_sub(begun);
            self.next_ns = now.saturating_add(clock::nanos(PAUSE).max(took.saturating_mul(RARE)));
        }
    }

    /// What they have spent since the recording began.
    pub fn tell(&mut self, groups: &Groups, recording: &mut Recording, now: u64) {
        let now = now.max(self.looked_ns + APART_NS);
        let before = groups.before.lock();
        for (at, group) in groups.known().enumerate() {
            if at == self.groups.len() {
                self.groups.push(Spent::default());
            }
            let of = &mut self.groups[at];
            if of.counter.is_none() && self.shown == MOST_SHOWN {
                continue;
            }
            let spent = group.cpu().wrapping_sub(before.get(at).map_or(0, |before| before[CPU]));
            if spent == of.told {
                continue;
            }
            let counter = *of.counter.get_or_insert_with(|| {
                self.shown += 1;
                recording.counter(
                    &format!("Group {}", plain(&group.name)),
                    "CPU time of its tasks",
                    Unit::Nanoseconds,
                )
            });
            // Since then it has rested, and grows from there on.
            if of.told_ns != self.looked_ns {
                recording.count(counter, self.looked_ns, of.told);
            }
            recording.count(counter, now, spent);
            (of.told, of.told_ns) = (spent, now);
        }
        self.looked_ns = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn spend(groups: &Groups, name: &str, cpu: u64) {
        groups.get(groups.number(name)).unwrap().shared.spend(cpu, Some(cpu));
    }

    #[test]
    fn a_group_has_what_it_spends_between_two_looks_and_nothing_while_it_rests() {
        let (groups, mut recording) = (Groups::default(), Recording::new());
        spend(&groups, "early", 7 * MS);
        groups.begin();
        let mut spending = Spending::begin(10 * MS);
        groups.number("never");
        for (now, cpu) in [(20, 0), (30, 5), (40, 2), (50, 0), (60, 0), (70, 1)] {
            if cpu > 0 {
                spend(&groups, "orders", cpu * MS);
            }
            spending.tell(&groups, &mut recording, now * MS);
        }
        // At the end it is looked at just after it was.
        spend(&groups, "early", MS);
        spending.tell(&groups, &mut recording, 70 * MS + 1);
        let told: Vec<_> =
            recording.counters().iter().map(|counter| (&*counter.name, counter.readings())).collect();
        let orders = [(20, 0), (30, 5), (40, 7), (60, 7), (70, 8)].map(|(time, cpu)| (time * MS, cpu * MS));
        assert_eq!(
            told,
            [("Group orders", &orders[..]), ("Group early", &[(70 * MS, 0), (71 * MS, MS)][..])]
        );
    }

    #[test]
    fn only_the_first_have_a_graph() {
        let (groups, mut recording) = (Groups::default(), Recording::new());
        let mut spending = Spending::begin(10 * MS);
        for round in 0..2_u64 {
            for at in 0..2 * MOST_SHOWN {
                spend(&groups, &at.to_string(), MS);
            }
            spending.tell(&groups, &mut recording, (20 + round) * MS);
        }
        assert_eq!(recording.counters().len(), MOST_SHOWN);
        assert!(
            recording.counters().iter().all(|counter| counter.readings().last() == Some(&(21 * MS, 2 * MS)))
        );
    }
}
