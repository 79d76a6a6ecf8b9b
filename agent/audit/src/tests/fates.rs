//! What becomes of an event, by what its stack is.

use vouch_recording::ByFate;
use vouch_verify::proof::Refutation;

use super::program::{
    BEGINNING, BROKEN, CLASSES, CLEAR, COLLECTOR, ENDED, FIRST, Folder, GONE, LAMBDA_BODY, LAMBDA_RUN, MAIN,
    MAIN_THREAD, NATIVE, NOBODY, OPEN, PARK, READ, RUN, SECOND, STALE, SUM, Shown, UNKNOWN, WORKER, at,
    audit, audit_of, audited, depth, launched, recorded_by, recording, shown,
};

const TRUE: [(i64, i64); 3] = [(SUM, FIRST), (OPEN, FIRST), (MAIN, FIRST)];

fn truth(times: usize) -> Shown {
    shown(MAIN_THREAD, times, &TRUE.map(|(method, bci)| at(method, bci)))
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
fn a_frame_that_is_lacking_is_noticed_and_shown_with_the_bytecode() {
    let wrong = shown(MAIN_THREAD, 3, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]);
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
fn a_place_that_cannot_be_is_noticed() {
    let inside = shown(MAIN_THREAD, 1, &[(SUM, FIRST, 40), (OPEN, FIRST + 1, 30), at(MAIN, FIRST)]);
    let past = shown(MAIN_THREAD, 2, &[(OPEN, 99, 31), at(MAIN, FIRST)]);
    let report = audit("places", &[truth(10), inside, past]);
    assert_eq!(fates(&report), ByFate { proven: 10, refuted: 3, ..ByFate::default() });
    assert_eq!((report.refuted["bci_inside_instruction"], report.refuted["bci_past_end"]), (1, 2));
}

#[test]
fn a_thread_that_began_in_run_does_not_begin_elsewhere() {
    let whole = shown(WORKER, 5, &[at(SUM, FIRST), at(RUN, FIRST)]);
    let rootless = shown(WORKER, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let report = audit("roots", &[truth(1), whole.clone(), rootless.clone()]);
    assert_eq!(fates(&report), ByFate { proven: 6, refuted: 2, ..ByFate::default() });
    assert_eq!(report.refutations[0].kind, Refutation::WrongRoot);
    // What its recorder says was cut has no root to be judged.
    let cut = Shown { cut: true, ..rootless.clone() };
    let report = audit("cut", &[truth(1), whole, cut]);
    assert_eq!(fates(&report), ByFate { proven: 6, plausible: 2, ..ByFate::default() });
    assert_eq!(report.kinds["jdk.ExecutionSample"].cut, 2);
    // Of a thread that nobody saw begin nothing is known.
    let report = audit("attached", &[truth(1), rootless]);
    assert_eq!(fates(&report), ByFate { proven: 1, plausible: 2, ..ByFate::default() });
}

#[test]
fn what_a_profiler_says_it_does_not_know_is_no_stack() {
    let stacks = [
        truth(1),
        shown(MAIN_THREAD, 2, &[at(UNKNOWN, 0)]),
        shown(MAIN_THREAD, 3, &[at(SUM, FIRST), at(OPEN, FIRST), at(BROKEN, 0)]),
        shown(COLLECTOR, 4, &[at(NATIVE, 0), at(BEGINNING, 0)]),
        shown(MAIN_THREAD, 5, &[at(NATIVE, 0)]),
        shown(COLLECTOR, 6, &[at(NATIVE, 0)]),
        // Native code on top of Java, and between Java frames, is the JVM's own work.
        shown(
            MAIN_THREAD,
            7,
            &[at(NATIVE, 0), at(SUM, FIRST), at(NATIVE, 0), at(OPEN, FIRST), at(MAIN, FIRST)],
        ),
        shown(MAIN_THREAD, 8, &[]),
    ];
    let report = audit("confessed", &stacks);
    let expected = ByFate { proven: 8, plausible: 3, unwalked: 15, outside: 10, ..ByFate::default() };
    assert_eq!(fates(&report), expected);
    assert_eq!(report.broken["break_deopt"], 3);
    let why = &report.unwalked;
    assert_eq!((why["unknown_Java"], why["native_frames_alone"], why["failed"]), (2, 5, 8));
}

#[test]
fn who_is_on_both_sides_of_an_unnamed_method_has_not_called_each_other() {
    let lacking = [at(CLEAR, FIRST), at(STALE, 0), at(OPEN, FIRST), at(MAIN, FIRST)];
    let unrooted = [at(SUM, FIRST), at(STALE, 0)];
    let stacks = [
        truth(9),
        shown(MAIN_THREAD, 4, &lacking),
        shown(MAIN_THREAD, 3, &unrooted),
        shown(MAIN_THREAD, 2, &[at(STALE, 0)]),
    ];
    let report = audit_of("unnamed", vec![launched()], &stacks);
    assert_eq!(fates(&report), ByFate { proven: 9, plausible: 7, unwalked: 2, ..ByFate::default() });
    assert_eq!((report.unwalked["unnamed_method"], report.broken["unnamed_method"]), (2, 3));
    assert_eq!(report.edges.unjudged["unnamed_method"], 1);
}

#[test]
fn a_stack_of_as_many_frames_as_there_may_be_was_cut() {
    let cut = shown(MAIN_THREAD, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let judged =
        |told| fates(&audit_of("limit", told, &[shown(MAIN_THREAD, 5, &[at(MAIN, FIRST)]), cut.clone()]));
    assert_eq!(judged(vec![launched(), depth("2")]), ByFate { proven: 5, plausible: 2, ..ByFate::default() });
    assert_eq!(judged(vec![launched(), depth("3")]), ByFate { proven: 5, refuted: 2, ..ByFate::default() });
}

#[test]
fn the_main_thread_of_a_native_program_calls_what_it_likes() {
    let called = shown(MAIN_THREAD, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let stacks = [truth(5), called];
    assert_eq!(fates(&audit_of("launched", vec![launched()], &stacks)).refuted, 2);
    assert_eq!(fates(&audit("embedded", &stacks)), ByFate { proven: 5, plausible: 2, ..ByFate::default() });
}

#[test]
fn the_thread_of_main_is_known_where_it_has_its_last_name_all_along() {
    let lacking = shown(ENDED, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    let stacks = [truth(5), shown(ENDED, 3, &[at(MAIN, FIRST)]), lacking];
    let refuted = |told| fates(&audit_of("ended", told, &stacks)).refuted;
    assert_eq!(refuted(vec![launched(), recorded_by("async-profiler 4.5")]), 2);
    assert_eq!(
        refuted(vec![launched(), recorded_by("1")]),
        0,
        "Flight Recorder has another name for another time"
    );
    assert_eq!(refuted(vec![recorded_by("async-profiler 4.5")]), 0, "a native program calls what it likes");
}

#[test]
fn threads_that_nobody_can_tell_apart_are_not_one() {
    let run = shown(NOBODY, 5, &[at(SUM, FIRST), at(RUN, FIRST)]);
    let other = shown(NOBODY, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]);
    assert_eq!(fates(&audit("nobody", &[truth(3), run, other])).refuted, 0);
}

#[test]
fn samples_that_were_lost_are_counted() {
    let report = audited(recording(&[truth(3)], 40), &Folder::of("lost", &CLASSES)).unwrap();
    assert_eq!(report.kinds["jdk.CPUTimeSample"].fates.fates.dropped, 40);
    assert_eq!((report.samples.signals, report.samples.fates.proven), (43, 3));
}

#[test]
fn a_lambda_calls_what_the_class_around_it_says() {
    let lambda = |top| shown(MAIN_THREAD, 1, &[top, at(LAMBDA_RUN, 4), at(MAIN, SECOND)]);
    let body = |times| Shown { times, ..lambda(at(LAMBDA_BODY, FIRST)) };
    let report = audit("lambda", &[truth(9), lambda(at(LAMBDA_BODY, FIRST))]);
    assert_eq!(report.classes.generated["lambda"], 1);
    assert_eq!(report.edges.proven, 3, "the lambda's own call is proven: {:?}", report.edges);
    let report = audit("other-lambda", &[truth(9), body(9), lambda(at(CLEAR, FIRST))]);
    assert_eq!((report.edges.refuted, report.refuted["other_callee"]), (1, 1), "{:?}", report.edges);
}

#[test]
fn an_event_is_no_sample_and_without_a_stack_says_nothing() {
    let park = |times, frames: &[_]| Shown { kind: PARK, ..shown(MAIN_THREAD, times, frames) };
    let report =
        audit("park", &[truth(2), park(5, &TRUE.map(|(method, bci)| at(method, bci))), park(9, &[])]);
    assert_eq!((report.samples.signals, report.kinds["jdk.ThreadPark"].fates.signals), (2, 5));
    assert!(report.kinds["jdk.ExecutionSample"].samples && !report.kinds["jdk.ThreadPark"].samples);
}

#[test]
fn where_the_recorder_leaves_frames_out_nothing_is_refuted() {
    let filtered =
        Shown { kind: READ, ..shown(MAIN_THREAD, 3, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]) };
    let report = audit("filtered", &[truth(10), filtered]);
    assert_eq!(report.kinds["jdk.FileRead"].fates.fates, ByFate { plausible: 3, ..ByFate::default() });
    assert_eq!(report.edges.unjudged["filtered_by_recorder"], 1);
    assert_eq!(report.kinds["jdk.FileRead"].unjudged, 3);
}

#[test]
fn the_power_of_an_audit_is_that_of_what_it_can_judge() {
    let deep = shown(MAIN_THREAD, 1, &[at(CLEAR, FIRST), at(SUM, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]);
    let report = audit("power", &[truth(9), deep]);
    let dropped = report.power["dropped_frames"];
    assert!(dropped.tried > 1_000 && dropped.noticed == dropped.tried, "{dropped:?}");
    let blind = shown(MAIN_THREAD, 1, &[at(GONE, 3), at(GONE, 5), at(GONE, 7), at(MAIN, FIRST)]);
    let report = audit("blind", &[blind]);
    let moved = report.power["moved_bcis"];
    assert_eq!(moved.noticed, 0, "{moved:?}");
}
