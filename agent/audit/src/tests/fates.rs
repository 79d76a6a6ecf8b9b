//! Tests that the fate of an event follows from its stack.

use vouch_recording::ByFate;
use vouch_verify::proof::Refutation;

use super::program::{
    BROKEN, CLASSES, CLEAR, COLLECTOR, ClassFolder, ENDED_MAIN, FIRST, GONE, LAMBDA_BODY, LAMBDA_RUN, MAIN,
    MAIN_THREAD, NATIVE, NO_THREAD, OPEN, PARK, READ, RUN, SECOND, STALE, SUM, THREAD_START, TestStack,
    UNKNOWN, WORKER, at, audit, audit_after, audited, depth_setting, java_launcher, recorded_by, recording,
    stack,
};

const TRUE: [(i64, i64); 3] = [(SUM, FIRST), (OPEN, FIRST), (MAIN, FIRST)];

fn truth(times: usize) -> TestStack {
    stack(MAIN_THREAD, times, &TRUE.map(|(method, bci)| at(method, bci)))
}

fn fates(report: &crate::AuditReport) -> ByFate<u64> {
    report.samples.fates
}

#[test]
fn a_true_stack_is_proven() {
    let report = audit("true", &[truth(7)]);
    assert_eq!(fates(&report), ByFate { proven: 7, ..ByFate::default() });
    assert_eq!((report.edges.checked, report.edges.judged), (14, 14));
    assert_eq!((report.edges.distinct, report.edges.proven), (2, 2));
    assert_eq!((report.classes.found, report.classes.confirmed), (3, 3));
    assert_eq!(report.samples.signals, 7);
}

#[test]
fn a_missing_frame_is_refuted_and_shown_with_bytecode() {
    let wrong = stack(MAIN_THREAD, 3, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]);
    let report = audit("lacking", &[truth(10), wrong]);
    assert_eq!(fates(&report), ByFate { proven: 10, refuted: 3, ..ByFate::default() });
    let [refutation] = &report.refutations[..] else { panic!("{:?}", report.refutations) };
    assert_eq!((refutation.kind, refutation.count, refutation.bci), (Refutation::OtherCallee, 3, 0));
    assert_eq!((&*refutation.caller, &*refutation.found), ("Shop.open:()V", "Cart.clear:()V"));
    assert_eq!(refutation.expected, "invokestatic Cart.sum:()V");
    assert_eq!(refutation.stack[1], "Shop.open(Written.java:30) @ 0");
    assert_eq!(refutation.at, Some(1));
    assert!(refutation.code.iter().any(|line| line.starts_with('→') && line.contains("Cart.sum")));
    assert_eq!(report.refuted["other_callee"], 3);
}

#[test]
fn an_impossible_bci_is_refuted() {
    let inside = stack(MAIN_THREAD, 1, &[(SUM, FIRST, 40), (OPEN, FIRST + 1, 30), at(MAIN, FIRST)]);
    let past = stack(MAIN_THREAD, 2, &[(OPEN, 99, 31), at(MAIN, FIRST)]);
    let report = audit("places", &[truth(10), inside, past]);
    assert_eq!(fates(&report), ByFate { proven: 10, refuted: 3, ..ByFate::default() });
    assert_eq!((report.refuted["bci_inside_instruction"], report.refuted["bci_past_end"]), (1, 2));
}

#[test]
fn a_thread_that_began_in_run_does_not_begin_elsewhere() {
    let whole = stack(WORKER, 5, &[at(SUM, FIRST), at(RUN, FIRST)]);
    let rootless = stack(WORKER, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let report = audit("roots", &[truth(1), whole.clone(), rootless.clone()]);
    assert_eq!(fates(&report), ByFate { proven: 6, refuted: 2, ..ByFate::default() });
    assert_eq!(report.refutations[0].kind, Refutation::WrongRoot);
    // A truncated stack has no root to judge.
    let cut = TestStack { cut: true, ..rootless.clone() };
    let report = audit("cut", &[truth(1), whole, cut]);
    assert_eq!(fates(&report), ByFate { proven: 6, plausible: 2, ..ByFate::default() });
    assert_eq!(report.kinds["jdk.ExecutionSample"].cut, 2);
    // The root of a thread is unknown if no stack shows it.
    let report = audit("attached", &[truth(1), rootless]);
    assert_eq!(fates(&report), ByFate { proven: 1, plausible: 2, ..ByFate::default() });
}

#[test]
fn failures_that_the_profiler_reports_are_not_stacks() {
    let stacks = [
        truth(1),
        stack(MAIN_THREAD, 2, &[at(UNKNOWN, 0)]),
        stack(MAIN_THREAD, 3, &[at(SUM, FIRST), at(OPEN, FIRST), at(BROKEN, 0)]),
        stack(COLLECTOR, 4, &[at(NATIVE, 0), at(THREAD_START, 0)]),
        stack(MAIN_THREAD, 5, &[at(NATIVE, 0)]),
        stack(COLLECTOR, 6, &[at(NATIVE, 0)]),
        // Native code on top of Java, and between Java frames, is the JVM's work.
        stack(
            MAIN_THREAD,
            7,
            &[at(NATIVE, 0), at(SUM, FIRST), at(NATIVE, 0), at(OPEN, FIRST), at(MAIN, FIRST)],
        ),
        stack(MAIN_THREAD, 8, &[]),
    ];
    let report = audit("confessed", &stacks);
    let expected = ByFate { proven: 8, plausible: 3, unwalked: 15, outside: 10, ..ByFate::default() };
    assert_eq!(fates(&report), expected);
    assert_eq!(report.broken["break_deopt"], 3);
    let why = &report.unwalked;
    assert_eq!((why["unknown_Java"], why["native_frames_alone"], why["failed"]), (2, 5, 8));
}

#[test]
fn methods_around_an_unnamed_frame_are_not_judged_as_an_edge() {
    let lacking = [at(CLEAR, FIRST), at(STALE, 0), at(OPEN, FIRST), at(MAIN, FIRST)];
    let unrooted = [at(SUM, FIRST), at(STALE, 0)];
    let stacks = [
        truth(9),
        stack(MAIN_THREAD, 4, &lacking),
        stack(MAIN_THREAD, 3, &unrooted),
        stack(MAIN_THREAD, 2, &[at(STALE, 0)]),
    ];
    let report = audit_after("unnamed", vec![java_launcher()], &stacks);
    assert_eq!(fates(&report), ByFate { proven: 9, plausible: 7, unwalked: 2, ..ByFate::default() });
    assert_eq!((report.unwalked["unnamed_method"], report.broken["unnamed_method"]), (2, 3));
    assert_eq!(report.edges.unjudged["unnamed_method"], 1);
}

#[test]
fn a_stack_as_deep_as_the_limit_counts_as_truncated() {
    let cut = stack(MAIN_THREAD, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let judged = |run_events| {
        fates(&audit_after("limit", run_events, &[stack(MAIN_THREAD, 5, &[at(MAIN, FIRST)]), cut.clone()]))
    };
    assert_eq!(
        judged(vec![java_launcher(), depth_setting("2")]),
        ByFate { proven: 5, plausible: 2, ..ByFate::default() }
    );
    assert_eq!(
        judged(vec![java_launcher(), depth_setting("3")]),
        ByFate { proven: 5, refuted: 2, ..ByFate::default() }
    );
}

#[test]
fn the_main_thread_of_a_native_launcher_may_have_any_root() {
    let called = stack(MAIN_THREAD, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let stacks = [truth(5), called];
    assert_eq!(fates(&audit_after("launched", vec![java_launcher()], &stacks)).refuted, 2);
    assert_eq!(fates(&audit("embedded", &stacks)), ByFate { proven: 5, plausible: 2, ..ByFate::default() });
}

#[test]
fn async_profiler_main_thread_is_found_by_its_last_name() {
    let lacking = stack(ENDED_MAIN, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let stacks = [truth(5), stack(ENDED_MAIN, 3, &[at(MAIN, FIRST)]), lacking];
    let refuted = |run_events| fates(&audit_after("ended", run_events, &stacks)).refuted;
    assert_eq!(refuted(vec![java_launcher(), recorded_by("async-profiler 4.5")]), 2);
    assert_eq!(
        refuted(vec![java_launcher(), recorded_by("1")]),
        0,
        "Flight Recorder has another name for another time"
    );
    assert_eq!(refuted(vec![recorded_by("async-profiler 4.5")]), 0, "a native program calls what it likes");
}

#[test]
fn threads_without_an_id_share_no_root() {
    let run = stack(NO_THREAD, 5, &[at(SUM, FIRST), at(RUN, FIRST)]);
    let other = stack(NO_THREAD, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    assert_eq!(fates(&audit("nobody", &[truth(3), run, other])).refuted, 0);
}

#[test]
fn lost_samples_are_counted_as_dropped() {
    let report = audited(recording(&[truth(3)], 40), &ClassFolder::new("lost", &CLASSES)).unwrap();
    assert_eq!(report.kinds["jdk.CPUTimeSample"].fates.fates.dropped, 40);
    assert_eq!((report.samples.signals, report.samples.fates.proven), (43, 3));
}

#[test]
fn a_lambda_may_call_only_what_its_host_class_names() {
    let lambda = |top| stack(MAIN_THREAD, 1, &[top, at(LAMBDA_RUN, 4), at(MAIN, SECOND)]);
    let body = |times| TestStack { times, ..lambda(at(LAMBDA_BODY, FIRST)) };
    let report = audit("lambda", &[truth(9), lambda(at(LAMBDA_BODY, FIRST))]);
    assert_eq!(report.classes.generated["lambda"], 1);
    assert_eq!(report.edges.proven, 3, "the lambda's own call is proven: {:?}", report.edges);
    let report = audit("other-lambda", &[truth(9), body(9), lambda(at(CLEAR, FIRST))]);
    assert_eq!((report.edges.refuted, report.refuted["other_callee"]), (1, 1), "{:?}", report.edges);
}

#[test]
fn other_events_count_only_with_a_stack() {
    let park = |times, frames: &[_]| TestStack { kind: PARK, ..stack(MAIN_THREAD, times, frames) };
    let report =
        audit("park", &[truth(2), park(5, &TRUE.map(|(method, bci)| at(method, bci))), park(9, &[])]);
    assert_eq!((report.samples.signals, report.kinds["jdk.ThreadPark"].fates.signals), (2, 5));
    assert!(report.kinds["jdk.ExecutionSample"].samples && !report.kinds["jdk.ThreadPark"].samples);
}

#[test]
fn stacks_that_the_recorder_filters_are_not_refuted() {
    let filtered = TestStack {
        kind: READ,
        ..stack(MAIN_THREAD, 3, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)])
    };
    let report = audit("filtered", &[truth(10), filtered]);
    assert_eq!(report.kinds["jdk.FileRead"].fates.fates, ByFate { plausible: 3, ..ByFate::default() });
    assert_eq!(report.edges.unjudged["filtered_by_recorder"], 1);
    assert_eq!(report.kinds["jdk.FileRead"].unjudged, 3);
}

#[test]
fn power_counts_only_code_that_can_be_judged() {
    let deep = stack(MAIN_THREAD, 1, &[at(CLEAR, FIRST), at(SUM, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]);
    let report = audit("power", &[truth(9), deep]);
    let dropped = report.power["dropped_frames"];
    assert!(dropped.tried > 1_000 && dropped.noticed == dropped.tried, "{dropped:?}");
    let blind = stack(MAIN_THREAD, 1, &[at(GONE, 3), at(GONE, 5), at(GONE, 7), at(MAIN, FIRST)]);
    let report = audit("blind", &[blind]);
    let moved = report.power["moved_bcis"];
    assert_eq!(moved.noticed, 0, "{moved:?}");
}
