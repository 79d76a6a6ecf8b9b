//! Tests of the CPU time of a thread that no sample covers.

use super::program::{
    COLLECTOR, CPU_SAMPLE, FIRST, LOAD, MAIN, MAIN_THREAD, OPEN, RUN, SAMPLE, SUM, TestStack, WALL, WORKER,
    at, audit_after, load, period, processors, setting, stack, start,
};
use crate::report::ThreadReport;

const SECOND: i64 = 1_000_000_000;

/// Makes samples of one second for each thread, and of two seconds for the main thread.
fn stacks() -> [TestStack; 2] {
    [
        stack(MAIN_THREAD, 100, &[at(SUM, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]),
        stack(WORKER, 50, &[at(SUM, FIRST), at(RUN, FIRST)]),
    ]
}

fn run_events() -> Vec<Vec<u8>> {
    vec![
        // Events in a file are not in the order of time.
        load(10 * SECOND, WORKER, 0.125, 0.125),
        start(9 * SECOND, WORKER),
        period(SAMPLE, "20 ms"),
        period(LOAD, "10 s"),
        processors(4),
        load(10 * SECOND, MAIN_THREAD, 0.25, 0.0),
        load(10 * SECOND, COLLECTOR, 0.0, 0.0125),
    ]
}

fn thread<'r>(report: &'r crate::AuditReport, name: &str) -> &'r ThreadReport {
    report.threads.iter().find(|thread| thread.name == name).unwrap()
}

#[test]
fn cpu_time_without_samples_is_a_gap() {
    let report = audit_after("gaps", run_events(), &stacks());
    let main = thread(&report, "main");
    let near = |one: Option<f64>, other: f64| (one.unwrap() - other).abs() < 0.01;
    assert!(near(main.cpu_ms, 10_000.0) && near(main.sampled_ms, 2_000.0), "{main:?}");
    assert!(near(main.gap_ms, 8_000.0), "{main:?}");
    // The thread used its processor from its start to its end, one second later.
    let worker = thread(&report, "worker");
    assert!(near(worker.cpu_ms, 1_000.0) && worker.gap_ms.is_none(), "{worker:?}");
    // A thread without any stack is listed if it has a gap.
    let collector = thread(&report, "GC Thread#0");
    assert!(near(collector.gap_ms, 500.0) && collector.stacks == 0, "{collector:?}");
    let summary = report.summary(vouch_report::Files::default(), &[]);
    assert!(
        summary.contains(
            "samples lack 8.00 s of the 10.00 s of CPU time of thread main (and of 1 threads more)"
        ),
        "{summary}"
    );
}

#[test]
fn each_load_event_covers_the_time_since_the_one_before() {
    let more = [run_events(), vec![load(12 * SECOND, MAIN_THREAD, 0.25, 0.0)]].concat();
    let report = audit_after("rounds", more, &stacks());
    assert!((thread(&report, "main").cpu_ms.unwrap() - 12_000.0).abs() < 0.01, "{:?}", report.threads);
}

#[test]
fn samples_of_two_clocks_are_not_added() {
    let by_the_other =
        stacks().map(|stack| TestStack { kind: CPU_SAMPLE, times: stack.times / 10 * 9, ..stack });
    let all = [stacks().to_vec(), by_the_other.to_vec()].concat();
    let report = audit_after("clocks", [run_events(), vec![period(CPU_SAMPLE, "20 ms")]].concat(), &all);
    let sampled = thread(&report, "main").sampled_ms.unwrap();
    assert!((sampled - 2_000.0).abs() < 0.01, "{sampled} of two clocks: the one that tells more");
}

#[test]
fn samples_without_cpu_time_give_no_sampled_time() {
    for events in [&["cache-misses"][..], &["wall"], &["cpu", "wall"]] {
        let events: Vec<_> = events.iter().map(|event| setting("event", event)).collect();
        let events = [run_events(), events].concat();
        let threads = audit_after("no-cpu-time", events, &stacks()).threads;
        assert!(threads.iter().all(|thread| thread.sampled_ms.is_none()), "{threads:?}");
    }
}

#[test]
fn no_gap_is_reported_if_the_recording_lacks_the_data() {
    let without = |left_out: usize| {
        let mut events = run_events();
        events.remove(left_out);
        audit_after("untold", events, &stacks())
    };
    for left_out in [2, 4] {
        assert!(without(left_out).threads.iter().all(|thread| thread.gap_ms.is_none()), "{left_out}");
    }
    // A wall-clock sample does not measure CPU time.
    let waited = stacks().map(|stack| TestStack { kind: WALL, times: 1_000, ..stack });
    let all = [stacks().to_vec(), waited.to_vec()].concat();
    let report = audit_after("waited", [run_events(), vec![period(WALL, "20 ms")]].concat(), &all);
    assert!(thread(&report, "main").gap_ms.is_some(), "{:?}", report.threads);
}
