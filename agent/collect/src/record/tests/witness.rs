//! Tests the stages with GetStackTrace as the witness: which frames are compared, and what a
//! difference causes.

use vouch_report::GradeReport;
use vouch_sample::{Frame, Head, MethodId, NATIVE};

use super::WHOLE;
use super::bench::{AGAIN, Bench, DEPTH, LOST, MAIN, READ, STORE, WRITE};
use crate::choices::{Refuted, Witnessing};
use crate::jvm::fake::STEP;
use crate::jvm::{Top, TopFrame, Witnessed};

#[test]
fn a_root_that_the_witness_confirms_is_right() {
    let mut bench = Bench::new();
    bench.jvm.stack = Some(now_is(&[(STORE, 0)], false));
    bench.sample(10, &[(WRITE, 0), (STORE, 0)]);
    assert_eq!((bench.tally().samples.proven, bench.jvm.asked), (1, 1));
    // With witnessing off, the JVM must not be asked.
    let mut bench = Bench::with(Refuted::Isolate, Witnessing::Off, &[]);
    bench.jvm.stack = Some(now_is(&[(STORE, 0)], false));
    bench.sample(10, &[(WRITE, 0), (STORE, 0)]);
    assert_eq!((bench.tally().samples.refuted, bench.jvm.asked), (1, 0));
}

#[test]
fn a_root_without_an_answer_is_asked_about_again() {
    let mut bench = Bench::new();
    let mut sampled = |stack: Option<&[(usize, i32)]>, root: usize| {
        bench.jvm.stack = stack.map(|stack| now_is(stack, false));
        bench.sample(10, &[(root, 0)]);
        let fates = bench.tally().samples;
        (fates.refuted, fates.proven)
    };
    // The thread is idle by then, and has no stack.
    assert_eq!(sampled(None, STORE), (1, 0));
    assert_eq!(sampled(Some(&[(STORE, 0)]), STORE), (1, 1));
    assert_eq!(sampled(None, STORE), (1, 2), "what is known is known");
    // The thread has a second root.
    assert_eq!(sampled(Some(&[(WRITE, 0)]), WRITE), (1, 3));
    assert_eq!(sampled(None, STORE), (1, 4));
}

#[test]
fn the_jvm_is_asked_about_a_thread_of_which_a_method_has_no_id() {
    const REDEFINED: [(usize, i32); 3] = [(WRITE, 0), (0, 0), (MAIN, 0)];
    for (wish, times) in [(Witnessing::Auto, 1), (Witnessing::Off, 0)] {
        let mut bench = Bench::with(Refuted::Isolate, wish, &[]);
        bench.sample(10, &WHOLE);
        assert_eq!(bench.jvm.asked, 0);
        bench.sample(20, &REDEFINED);
        assert_eq!(
            (bench.jvm.asked, bench.recorder.witness.counts().asked),
            (times, 0),
            "that is no witness"
        );
    }
}

fn frame(method: usize, bci: i32) -> Frame {
    Frame::new(MethodId(method), bci)
}

fn frames(frames: &[(usize, i32)]) -> Vec<Frame> {
    frames.iter().map(|&(method, bci)| frame(method, bci)).collect()
}

/// Records a sample that wants a witness. GetStackTrace returns `stack`; `stayed` is the top frame
/// if the thread waited for its witness.
fn witnessed(walk: &[(usize, i32)], stack: impl Into<Option<Witnessed>>, stayed: Option<TopFrame>) -> Bench {
    let mut bench = Bench::new();
    bench.jvm.stack = stack.into();
    bench.jvm.top = Top { frame: stayed, away: false };
    let head = Head { wants_witness: true, ..bench.head(10) };
    bench.publish(&head, &[Ok(walk)]);
    if stayed.is_some() {
        bench.wait_for_witness(&head);
    }
    bench.drain();
    bench
}

pub fn now_is(stack: &[(usize, i32)], exact: bool) -> Witnessed {
    Witnessed { frames: frames(stack), exact }
}

/// Returns the agreed and asked counts by grade, and the kinds of difference.
fn grades_and_differences(bench: &Bench) -> ([(u64, u64); 3], Vec<&str>) {
    let counts = bench.recorder.witness.counts();
    let grades = [counts.exact, counts.all_but_top, counts.root_only];
    (grades.map(|grade| (grade.agreed, grade.asked)), counts.differences.keys().map(String::as_str).collect())
}

#[test]
fn a_witness_is_held_to_as_much_as_its_grade_says() {
    let exact = witnessed(&WHOLE, now_is(&WHOLE, true), None);
    assert_eq!(grades_and_differences(&exact), ([(1, 1), (0, 0), (0, 0)], vec![]));
    assert_eq!(exact.recorder.witness.counts().exact.frames, 3);
    // `write` was inlined into `store`, so both may have returned.
    let inlined = Some(TopFrame { frames: 2, outermost: Some(MethodId(STORE)) });
    for now in [&WHOLE[..], &WHOLE[2..], &[(READ, NATIVE), (LOST, 3), (MAIN, 0)]] {
        let bench = witnessed(&WHOLE, now_is(now, false), inlined);
        assert_eq!(grades_and_differences(&bench), ([(0, 0), (1, 1), (0, 0)], vec![]), "{now:?}");
        let GradeReport { frames, frames_left_out, .. } = bench.recorder.witness.counts().all_but_top;
        assert_eq!((frames, frames_left_out, bench.tally().samples.proven), (1, 2, 1));
    }
    // The thread ran on, or its top frame differs from the walk's.
    let elsewhere = Some(TopFrame { frames: 1, outermost: Some(MethodId(STORE)) });
    for stayed in [None, elsewhere] {
        let bench = witnessed(&WHOLE, now_is(&[(LOST, 0), (MAIN, STEP)], false), stayed);
        assert_eq!(grades_and_differences(&bench), ([(0, 0), (0, 0), (1, 1)], vec![]), "{stayed:?}");
    }
    let all = Some(TopFrame { frames: 3, outermost: Some(MethodId(MAIN)) });
    let bench = witnessed(&WHOLE, now_is(&[(MAIN, 0)], false), all);
    assert_eq!(grades_and_differences(&bench), ([(0, 0), (0, 0), (1, 1)], vec![]), "nothing is outside");
    assert_eq!(bench.recorder.witness.counts().root_only_because["top_alone"], 1);
    let gone = witnessed(&WHOLE, None, None);
    assert_eq!((grades_and_differences(&gone).0, gone.recorder.witness.counts().gone), ([(0, 0); 3], 1));
    // The JVM is not asked about a cut stack.
    let cut = witnessed(&[(WRITE, 0); DEPTH + 1], now_is(&WHOLE, true), None);
    assert_eq!(cut.recorder.witness.counts().asked, 0);
}

#[test]
fn the_stack_of_a_carrier_contradicts_no_mounted_thread() {
    for exact in [true, false] {
        let mut bench = Bench::new();
        bench.jvm.add_method(70, 0, "jdk/internal/vm/Continuation", "enter", &["write"]);
        bench.jvm.stack = Some(now_is(&[(MAIN, 0)], exact));
        bench.jvm.top = Top { frame: Some(TopFrame { frames: 1, outermost: None }), away: false };
        let head = Head { wants_witness: true, ..bench.head(10) };
        bench.publish(&head, &[Ok(&[(WRITE, 0), (STORE, 0), (70, 0), (MAIN, 0)])]);
        bench.wait_for_witness(&head);
        bench.drain();
        assert_eq!(grades_and_differences(&bench), ([(0, 0), (0, 0), (1, 1)], vec![]));
        assert_eq!(bench.recorder.witness.counts().root_only_because["carrier"], 1);
    }
}

#[test]
fn a_class_that_is_redefined_meanwhile_makes_no_difference() {
    let mut bench = Bench::new();
    bench.jvm.add_method(STORE + 100, 0, "shop/Main", "store", &["write", "read"]);
    bench.jvm.add_method(STORE + 101, 0, "shop/Main", "other", &["write", "read"]);
    bench.jvm.top = Top { frame: Some(TopFrame { frames: 1, outermost: None }), away: false };
    for (time, id) in [(10, STORE + 100), (20, STORE + 101)] {
        bench.jvm.stack = Some(now_is(&[(WRITE, 0), (id, 0), (MAIN, 0)], false));
        let head = Head { wants_witness: true, ..bench.head(time) };
        bench.publish(&head, &[Ok(&WHOLE)]);
        bench.wait_for_witness(&head);
        bench.drain();
    }
    assert_eq!(grades_and_differences(&bench), ([(0, 0), (1, 2), (0, 0)], vec!["extra", "gap"]));
}

#[test]
fn a_native_method_polls_before_it_returns() {
    let walk = [(READ, NATIVE), (STORE, STEP), (MAIN, 0)];
    for away in [true, false] {
        let mut bench = Bench::new();
        bench.jvm.stack = Some(now_is(&WHOLE, false));
        bench.jvm.top = Top { frame: Some(TopFrame { frames: 1, outermost: None }), away };
        let head = Head { wants_witness: true, ..bench.head(10) };
        bench.publish(&head, &[Ok(&walk)]);
        bench.wait_for_witness(&head);
        bench.drain();
        // Otherwise its caller may be anywhere.
        let expected = if away { [(0, 0), (0, 1), (0, 0)] } else { [(0, 0), (0, 0), (1, 1)] };
        assert_eq!(grades_and_differences(&bench).0, expected);
    }
}

#[test]
fn a_stack_that_the_jvm_contradicts_is_refuted_and_reported_with_both_stacks() {
    let inlined = Some(TopFrame { frames: 1, outermost: Some(MethodId(WRITE)) });
    let now = [(WRITE, 0), (STORE, 0), (LOST, 9), (MAIN, 0)];
    let mut bench = witnessed(&WHOLE, now_is(&now, false), inlined);
    assert_eq!(grades_and_differences(&bench), ([(0, 0), (0, 1), (0, 0)], vec!["gap"]));
    assert_eq!(bench.recorder.witness.counts().contradicted["proven"], 1);
    assert_eq!((bench.tally().samples.refuted, bench.recorder.refuted()["witness"]), (1, 1));
    assert_eq!(
        bench.shown(),
        [
            "main: [refuted: witness];shop.Main.main:10;[✗ the JVM itself says otherwise];shop.Main.store:10;shop.Main.write 1"
        ]
    );
    assert_eq!(bench.recorder.refutations(), []);
    let contradictions = bench.recorder.contradictions();
    let [report] = contradictions.as_slice() else { panic!("one is against it: {contradictions:?}") };
    assert_eq!((report.count, report.number, report.at), (1, 1, Some(1)));
    assert_eq!(
        (report.expected.as_str(), report.found.as_str()),
        ("shop.Main.lost @ 9", "shop.Main.store @ 0")
    );
    let witness = report.witness.as_ref().unwrap();
    assert_eq!((witness.grade.as_str(), witness.stack.len(), report.stack.len()), ("all_but_top", 4, 3));
    // An exact witness contradicts every frame.
    let exact = witnessed(&WHOLE, now_is(&WHOLE[1..], true), None);
    assert_eq!(contradiction_grade(&exact), "exact");
    assert_eq!(exact.recorder.witness.counts().contradicted["proven"], 1);
}

fn contradiction_grade(bench: &Bench) -> String {
    bench.recorder.contradictions()[0].witness.clone().unwrap().grade
}

#[test]
fn in_a_recursion_the_report_is_of_the_first_frame_that_differs() {
    let walk = [(AGAIN, 0); 4];
    let mut bench = witnessed(&walk, now_is(&[(AGAIN, 0), (AGAIN, 0), (LOST, 3), (AGAIN, 0)], true), None);
    let again = ";shop.Main.again:10";
    let shown =
        format!("main: [refuted: witness]{again};[✗ the JVM itself says otherwise]{} 1", again.repeat(3));
    assert_eq!(bench.shown(), [shown]);
    assert_eq!(bench.recorder.contradictions()[0].at, Some(2));
}
