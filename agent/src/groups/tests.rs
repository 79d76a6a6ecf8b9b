//! Tests that the times of tasks are added up, whichever threads ran them.

use super::*;

const MS: u64 = 1_000_000;

/// Adds a task in the same way as the library.
fn task(sums: &TaskSums, wall: u64) {
    for (which, more) in [(TASKS, 1), (WALL, wall), (CPU, wall / 2)] {
        let number = &sums.values()[which];
        number.store(number.load(Relaxed) + more, Relaxed);
    }
}

#[test]
fn a_group_is_the_sum_over_all_of_its_threads() {
    let groups = Groups::default();
    let save = groups.number("save");
    assert_eq!((save, groups.number("save"), groups.number(OTHERS)), (2, 2, 1));
    let [first, second] = [(); 2].map(|()| groups.take_thread_sums(save).unwrap());
    task(first, 4 * MS);
    task(second, 6 * MS);
    groups.return_thread_sums(save, first);
    groups.begin();
    let third = groups.take_thread_sums(save).unwrap();
    assert!(std::ptr::eq(first, third), "it goes on in what was another thread's");
    task(third, 8 * MS);
    groups.get(save).unwrap().shared.add_task(3 * MS, None);
    groups.get(save).unwrap().shared.add_task(700 * MS, Some(16 * MS));
    let report = groups.report();
    let [(name, report)] = Vec::from_iter(report).try_into().unwrap();
    assert_eq!((name.as_str(), report.tasks, report.tasks_without_cpu), ("save", 3, 1), "since it began");
    assert_eq!((report.wall_ms, report.cpu_ms, report.blocked_ms), (711.0, 20.0, 688.0));
    let of = |counts: &BTreeMap<String, u64>| ["1", "2", "4", "16", "32", "512"].map(|limit| counts[limit]);
    assert_eq!(of(&report.tasks_of_ms), [2, 2, 1, 1, 1, 1]);
    assert_eq!(of(&report.tasks_of_cpu_ms), [1, 1, 1, 1, 0, 0]);
}

#[test]
fn groups_beyond_the_limit_are_one_and_threads_beyond_it_share_sums() {
    let groups = Groups::default();
    let numbers: Vec<u32> = (0..MAX_GROUPS).map(|at| groups.number(&at.to_string())).collect();
    assert_eq!(numbers.iter().filter(|number| **number == 1).count(), 1, "one is too many");
    assert_eq!(groups.number("7"), numbers[7], "what is known stays known");
    let thread_sums = (0..=MAX_THREAD_SUMS).filter_map(|_| groups.take_thread_sums(1)).count();
    assert_eq!(thread_sums, MAX_THREAD_SUMS);
    assert!([0, 4_098, u32::MAX].into_iter().all(|number| groups.take_thread_sums(number).is_none()));
}
