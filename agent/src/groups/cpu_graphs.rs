//! The CPU time that the tasks of groups took over time. The first groups that take any have a
//! graph each.
//!
//! The agent's own thread reads the sums at intervals. A task's CPU time appears when the task
//! ends. So a task that is longer than the interval appears all at its end, and has a marker
//! besides. Reading must never take more than a hundredth of a processor, however many sums there
//! are. A group without new CPU time must add no readings.

use std::time::Duration;

use vouch_recording::{CounterId, Recording, Unit};
use vouch_report::plain;
use vouch_sampling::clock;

use super::{CPU, Groups};

/// The interval between two looks. It is at least [`PAUSE_PER_COST`] times the CPU time of a look.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_PER_COST: u64 = 100;
/// The shortest time in ns between two readings. Less would not give a valid rate.
const MIN_READING_DISTANCE_NS: u64 = 1_000_000;
/// The maximum number of groups with a graph. More would be hard to read, and each may take half a
/// megabyte.
const MAX_GRAPHS: usize = 20;

/// The last readings of all groups, by their numbers.
#[derive(Debug)]
pub struct GroupCpuGraphs {
    groups: Vec<GroupGraph>,
    shown: usize,
    looked_ns: u64,
    next_ns: u64,
}

#[derive(Debug, Default)]
struct GroupGraph {
    counter: Option<CounterId>,
    /// The CPU time in ns at the last reading. The next field is the time of that reading.
    last_cpu_ns: u64,
    last_reading_ns: u64,
}

impl GroupCpuGraphs {
    /// Begins a recording.
    pub fn begin(now: u64) -> Self {
        Self { groups: Vec::new(), shown: 0, looked_ns: now, next_ns: now }
    }

    /// Reads the sums if it is time to.
    pub fn read_if_due(&mut self, groups: &Groups, recording: &mut Recording) {
        let now = clock::monotonic();
        if now >= self.next_ns {
            let begun = clock::own_cpu();
            self.add_readings(groups, recording, now);
            let took = clock::own_cpu().saturating_sub(begun);
            self.next_ns =
                now.saturating_add(clock::nanos(MIN_PAUSE).max(took.saturating_mul(PAUSE_PER_COST)));
        }
    }

    /// Adds the CPU time of each group since the recording began.
    pub fn add_readings(&mut self, groups: &Groups, recording: &mut Recording, now: u64) {
        let now = now.max(self.looked_ns + MIN_READING_DISTANCE_NS);
        let before = groups.before.lock();
        for (at, group) in groups.defined().enumerate() {
            if at == self.groups.len() {
                self.groups.push(GroupGraph::default());
            }
            let graph = &mut self.groups[at];
            if graph.counter.is_none() && self.shown == MAX_GRAPHS {
                continue;
            }
            let spent = group.cpu().wrapping_sub(before.get(at).map_or(0, |before| before[CPU]));
            if spent == graph.last_cpu_ns {
                continue;
            }
            let counter = *graph.counter.get_or_insert_with(|| {
                self.shown += 1;
                recording.counter(
                    &format!("Group {}", plain(&group.name)),
                    "CPU time of its tasks",
                    Unit::Nanoseconds,
                )
            });
            // The group took no CPU time until the last look, and the graph grows from there.
            if graph.last_reading_ns != self.looked_ns {
                recording.count(counter, self.looked_ns, graph.last_cpu_ns);
            }
            recording.count(counter, now, spent);
            (graph.last_cpu_ns, graph.last_reading_ns) = (spent, now);
        }
        self.looked_ns = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn spend(groups: &Groups, name: &str, cpu: u64) {
        groups.get(groups.number(name)).unwrap().shared.add_task(cpu, Some(cpu));
    }

    #[test]
    fn a_group_has_what_it_spends_between_two_looks_and_nothing_while_it_rests() {
        let (groups, mut recording) = (Groups::default(), Recording::new());
        spend(&groups, "early", 7 * MS);
        groups.begin();
        let mut cpu_graphs = GroupCpuGraphs::begin(10 * MS);
        groups.number("never");
        for (now, cpu) in [(20, 0), (30, 5), (40, 2), (50, 0), (60, 0), (70, 1)] {
            if cpu > 0 {
                spend(&groups, "orders", cpu * MS);
            }
            cpu_graphs.add_readings(&groups, &mut recording, now * MS);
        }
        // The last look at the end follows right after the one before.
        spend(&groups, "early", MS);
        cpu_graphs.add_readings(&groups, &mut recording, 70 * MS + 1);
        let readings: Vec<_> =
            recording.counters().iter().map(|counter| (&*counter.name, counter.readings())).collect();
        let orders = [(20, 0), (30, 5), (40, 7), (60, 7), (70, 8)].map(|(time, cpu)| (time * MS, cpu * MS));
        assert_eq!(
            readings,
            [("Group orders", &orders[..]), ("Group early", &[(70 * MS, 0), (71 * MS, MS)][..])]
        );
    }

    #[test]
    fn only_the_first_have_a_graph() {
        let (groups, mut recording) = (Groups::default(), Recording::new());
        let mut cpu_graphs = GroupCpuGraphs::begin(10 * MS);
        for round in 0..2_u64 {
            for at in 0..2 * MAX_GRAPHS {
                spend(&groups, &at.to_string(), MS);
            }
            cpu_graphs.add_readings(&groups, &mut recording, (20 + round) * MS);
        }
        assert_eq!(recording.counters().len(), MAX_GRAPHS);
        assert!(
            recording.counters().iter().all(|counter| counter.readings().last() == Some(&(21 * MS, 2 * MS)))
        );
    }
}
