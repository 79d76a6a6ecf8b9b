//! CPU time that a thread had, and of which no sample tells.

use super::program::{
    COLLECTOR, CPU_SAMPLE, FIRST, LOAD, MAIN, MAIN_THREAD, OPEN, RUN, SAMPLE, SUM, Shown, WALL, WORKER, at,
    audit_of, load, period, processors, setting, shown, start,
};
use crate::report::ThreadReport;

const SECOND: i64 = 1_000_000_000;

/// Of each of the threads a second of samples, of the main one two.
fn stacks() -> [Shown; 2] {
    [
        shown(MAIN_THREAD, 100, &[at(SUM, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]),
        shown(WORKER, 50, &[at(SUM, FIRST), at(RUN, FIRST)]),
    ]
}

fn told() -> Vec<Vec<u8>> {
    vec![
        // The order of a file is not that of time.
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
fn time_that_no_sample_tells_of_is_a_gap() {
    let report = audit_of("gaps", told(), &stacks());
    let main = thread(&report, "main");
    let near = |one: Option<f64>, other: f64| (one.unwrap() - other).abs() < 0.01;
    assert!(near(main.cpu_ms, 10_000.0) && near(main.sampled_ms, 2_000.0), "{main:?}");
    assert!(near(main.gap_ms, 8_000.0), "{main:?}");
    // It had its processor for all of its life, which was a second.
    let worker = thread(&report, "worker");
    assert!(near(worker.cpu_ms, 1_000.0) && worker.gap_ms.is_none(), "{worker:?}");
    // One without any stack is there for its gap.
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
fn a_second_round_is_of_the_time_since_the_first() {
    let more = [told(), vec![load(12 * SECOND, MAIN_THREAD, 0.25, 0.0)]].concat();
    let report = audit_of("rounds", more, &stacks());
    assert!((thread(&report, "main").cpu_ms.unwrap() - 12_000.0).abs() < 0.01, "{:?}", report.threads);
}

#[test]
fn two_clocks_tell_of_one_time() {
    let by_the_other = stacks().map(|shown| Shown { kind: CPU_SAMPLE, times: shown.times / 10 * 9, ..shown });
    let all = [stacks().to_vec(), by_the_other.to_vec()].concat();
    let report = audit_of("clocks", [told(), vec![period(CPU_SAMPLE, "20 ms")]].concat(), &all);
    let sampled = thread(&report, "main").sampled_ms.unwrap();
    assert!((sampled - 2_000.0).abs() < 0.01, "{sampled} of two clocks: the one that tells more");
}

#[test]
fn samples_that_count_no_cpu_time_tell_of_none() {
    for events in [&["cache-misses"][..], &["wall"], &["cpu", "wall"]] {
        let events: Vec<_> = events.iter().map(|event| setting("event", event)).collect();
        let told = [told(), events].concat();
        let threads = audit_of("no-cpu-time", told, &stacks()).threads;
        assert!(threads.iter().all(|thread| thread.sampled_ms.is_none()), "{threads:?}");
    }
}

#[test]
fn nothing_is_said_where_the_recording_does_not_tell() {
    let without = |left_out: usize| {
        let mut told = told();
        told.remove(left_out);
        audit_of("untold", told, &stacks())
    };
    for left_out in [2, 4] {
        assert!(without(left_out).threads.iter().all(|thread| thread.gap_ms.is_none()), "{left_out}");
    }
    // A sample by the wall clock says nothing of CPU time.
    let waited = stacks().map(|shown| Shown { kind: WALL, times: 1_000, ..shown });
    let all = [stacks().to_vec(), waited.to_vec()].concat();
    let report = audit_of("waited", [told(), vec![period(WALL, "20 ms")]].concat(), &all);
    assert!(thread(&report, "main").gap_ms.is_some(), "{:?}", report.threads);
}
