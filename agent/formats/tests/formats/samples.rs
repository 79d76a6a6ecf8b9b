//! Tests of the columns of samples: they are sorted, without drift, and have the thread's CPU time
//! between two samples.

use serde_json::Value;
use vouch_recording::{Recording, Sample};

use crate::common::{START_NS, busy_thread, numbers, sample, stack, written};

/// Converts a column of milliseconds to whole microseconds.
fn micros(column: &Value) -> Vec<u64> {
    let cell = |cell: &Value| {
        let (whole, part) = match cell.to_string().split_once('.') {
            Some((whole, part)) => (whole.to_owned(), format!("{part:0<3}")),
            None => (cell.to_string(), "000".to_owned()),
        };
        assert_eq!(part.len(), 3, "{cell} is finer than a microsecond");
        format!("{whole}{part}").parse().unwrap()
    };
    column.as_array().unwrap().iter().map(cell).collect()
}

#[test]
fn times_do_not_drift() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let at = |n: u64| n * 1_000_400 + 7_600;
    for n in 0..100_000 {
        recording.sample(thread, sample(at(n), stack));
    }
    let profile = written(&recording);
    let columns = &profile["threads"][0]["samples"];
    let times: Vec<u64> = micros(&columns["timeDeltas"])
        .iter()
        .scan(0, |time, delta| {
            *time += delta;
            Some(*time)
        })
        .collect();
    let rounded = |ns: u64| (ns + 500) / 1000;
    assert_eq!(times[0], rounded(START_NS + at(0)));
    assert_eq!(times[50_000], rounded(START_NS + at(50_000)));
    assert_eq!(times[99_999], rounded(START_NS + at(99_999)));
    // The CPU clock has no drift either. The first sample counts for at most one interval.
    let cpu: i64 = numbers(&columns["threadCPUDelta"]).iter().sum();
    assert_eq!(u64::try_from(cpu).unwrap(), rounded(at(99_999)));
}

#[test]
fn samples_are_sorted_by_time() {
    let mut recording = Recording::new();
    let (a, b, c) =
        (stack(&mut recording, &["a"]), stack(&mut recording, &["b"]), stack(&mut recording, &["c"]));
    let thread = recording.add_thread("main", 1, START_NS);
    recording.sample(thread, sample(3_000_000, c));
    recording.sample(thread, Sample { weight: 2, ..sample(1_000_000, a) });
    recording.sample(thread, sample(2_000_000, b));
    recording.end_thread(thread, START_NS + 3_000_000);
    let profile = written(&recording);
    let columns = &profile["threads"][0]["samples"];
    assert_eq!(columns["length"], 3);
    assert_eq!(numbers(&columns["stack"]), [0, 1, 2]);
    assert_eq!(numbers(&columns["weight"]), [2, 1, 1]);
    assert_eq!(numbers(&columns["threadCPUDelta"]), [1000, 1000, 1000]);
    assert_eq!(micros(&columns["timeDeltas"]), [START_NS / 1000 + 1000, 1000, 1000]);
}

#[test]
fn the_first_sample_has_no_more_cpu_time_than_its_weight() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("attached late", 1, START_NS);
    let first = Sample { cpu_ns: 9_000_000_000, weight: 3, ..sample(1_000_000, stack) };
    recording.sample(thread, first);
    recording.sample(thread, Sample { cpu_ns: first.cpu_ns + 500_000, ..sample(2_000_000, stack) });
    // A clock that goes back counts as one that did not move.
    recording.sample(thread, Sample { cpu_ns: first.cpu_ns, ..sample(3_000_000, stack) });
    recording.end_thread(thread, START_NS + 3_000_000);
    let profile = written(&recording);
    assert_eq!(numbers(&profile["threads"][0]["samples"]["threadCPUDelta"]), [3000, 500, 0]);
}

#[test]
fn weights_of_1_need_no_column() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    busy_thread(&mut recording, "main", stack, 3);
    let heavy = recording.add_thread("overrun", 2, START_NS);
    recording.sample(heavy, Sample { weight: 4, ..sample(1_000_000, stack) });
    recording.end_thread(heavy, START_NS + 1_000_000);
    let profile = written(&recording);
    assert_eq!(profile["threads"][0]["samples"]["weight"], Value::Null);
    assert_eq!(numbers(&profile["threads"][1]["samples"]["weight"]), [4]);
    assert_eq!(profile["threads"][1]["samples"]["weightType"], "tracing-ms", "at 1 ms");
}

#[test]
fn times_are_those_of_the_monotonic_clock() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = busy_thread(&mut recording, "main", stack, 1);
    recording.end_thread(thread, START_NS + 5_000_000);
    // One sample was taken just after the recording ended, and the recorded range must include it.
    recording.sample(thread, sample(1_500_000_000, stack));
    let profile = written(&recording);
    let (meta, track) = (&profile["meta"], &profile["threads"][0]);
    let start_ms = START_NS / 1_000_000;
    assert_eq!(meta["profilingStartTime"], start_ms);
    assert_eq!(meta["profilingEndTime"], start_ms + 1500);
    assert_eq!(meta["startTime"].as_u64().unwrap() + start_ms, 1_790_000_000_000);
    assert_eq!(track["registerTime"], start_ms);
    assert_eq!(track["unregisterTime"], start_ms + 5);
}

#[test]
fn a_stored_sample_takes_32_bytes_at_the_most() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let before = recording.bytes();
    for n in 1..=200_000_u64 {
        recording.sample(thread, sample(n, stack));
        assert!(n < 100 || recording.bytes() - before <= 32 * n, "{n} samples");
    }
}

/// A thread that sleeps between two samples must not seem to work.
#[test]
fn idle_time_has_no_stack_and_no_weight() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    recording.sample(thread, sample(1_000_000, stack));
    // The second sample is 20 ms later, with 1 ms more of CPU time.
    recording.sample(thread, Sample { cpu_ns: 2_000_000, ..sample(21_000_000, stack) });
    recording.end_thread(thread, START_NS + 21_000_000);
    let profile = written(&recording);
    let columns = &profile["threads"][0]["samples"];
    let stacks: Vec<bool> = columns["stack"].as_array().unwrap().iter().map(|s| !s.is_null()).collect();
    assert_eq!(stacks, [true, false, false, true]);
    assert_eq!(numbers(&columns["weight"]), [1, 0, 0, 1]);
    assert_eq!(numbers(&columns["threadCPUDelta"]), [1000, 0, 0, 1000]);
    // The first stack lasts for an interval, and the thread wakes a millisecond before the second
    // sample.
    assert_eq!(micros(&columns["timeDeltas"]), [START_NS / 1000 + 1000, 1000, 18_000, 1000]);
}

/// A thread that waited for a processor is drawn with the stack that it had.
#[test]
fn a_thread_that_waits_for_a_processor_keeps_its_stack() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    recording.sample(thread, sample(1_000_000, stack));
    recording.sample(thread, Sample { cpu_ns: 2_000_000, ..sample(10_000_000, stack) });
    recording.end_thread(thread, START_NS + 10_000_000);
    let profile = written(&recording);
    let columns = &profile["threads"][0]["samples"];
    assert_eq!(numbers(&columns["stack"]), [0, 0]);
    assert_eq!(numbers(&columns["threadCPUDelta"]), [1000, 1000]);
}
