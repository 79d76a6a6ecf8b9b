//! Tests what recovery adds to a sample after a failed walk: which candidate is taken, and which
//! frame is on top of it.

use std::time::Duration;

use vouch_recording::Fate;
use vouch_report::{Power, RecoveryReport};
use vouch_sample::{Certainty, Head, NATIVE};
use vouch_signal::sample_layout::Origin;
use vouch_unwind::recover::ALL;

use super::bench::{AGAIN, Bench, LOST, MAIN, READ, STORE, WRITE};
use super::witness::now_is;
use super::{WHOLE, WRONG};
use crate::choices::{Refuted, Witnessing};
use crate::jvm::fake::STEP;
use crate::jvm::{CodeAt, DebugInfoAt, InlinedFrames, Site, Top, TopFrame};

const STORED: [(usize, i32); 2] = [(STORE, 0), (MAIN, 0)];
/// The location of the interrupted instruction: in no known code, in the interpreter, or in the
/// code of `write` or `read`.
const STUB: usize = 1;
const INTERPRETER: usize = 2;
const IN_WRITE: usize = 3;
const IN_READ: usize = 4;
const UNKNOWN: usize = 5;

fn bench() -> Bench {
    let mut bench = Bench::with(Refuted::Isolate, Witnessing::Auto, &[]);
    let of = CodeAt::Method;
    bench.jvm.code.extend([
        (INTERPRETER, CodeAt::Interpreter),
        (UNKNOWN, CodeAt::Unknown),
        (IN_WRITE, of(id(WRITE))),
        (IN_READ, of(id(READ))),
    ]);
    bench
}

fn id(method: usize) -> vouch_sample::MethodId {
    vouch_sample::MethodId(method)
}

fn strategy(name: &str) -> u16 {
    u16::try_from(ALL.iter().position(|known| known.name == name).unwrap()).unwrap()
}

fn report(bench: &Bench, strategy: &str) -> RecoveryReport {
    bench.recorder.recovered(None, Duration::from_millis(1))[strategy]
}

#[test]
fn the_first_candidate_is_taken_that_the_bytecode_allows() {
    let mut bench = bench();
    let head = Head { weight: 3, ..bench.head(10) };
    let (top, probe) = (strategy("top"), strategy("probe"));
    bench.publish_recovered(&head, STUB, &[(probe, &WRONG), (top, &WHOLE), (probe, &WRONG)]);
    bench.drain();
    let tally = bench.tally();
    assert_eq!((tally.samples.get(Fate::Proven), tally.samples.sum(), tally.weight.proven), (1, 1, 3));
    assert_eq!(bench.shown(), ["main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 3"]);
    let refuted = RecoveryReport { walked: 1, refuted: 1, ..RecoveryReport::default() };
    assert_eq!(report(&bench, "probe"), refuted);
    let proven = RecoveryReport { walked: 1, proven: 1, weight_ms: 3.0, ..RecoveryReport::default() };
    assert_eq!(report(&bench, "top"), proven);
}

#[test]
fn where_none_is_allowed_the_sample_has_no_stack_and_the_jvm_is_not_blamed() {
    let mut bench = bench();
    bench.publish_recovered(&bench.head(10), STUB, &[(strategy("top"), &WRONG), (strategy("probe"), &WRONG)]);
    bench.drain();
    assert_eq!((bench.tally().samples.unwalked, bench.tally().samples.sum()), (1, 1));
    assert_eq!(bench.recorder.unwalked()["unknown_Java"], 1);
    assert_eq!(bench.shown(), ["main: [no stack: in Java, unknown code] 1"]);
    assert!(bench.recorder.refutations().is_empty() && bench.recorder.refuted().is_empty());
    let edges = bench.recorder.edges();
    assert_eq!((edges.checked, edges.distinct, edges.refuted), (0, 0, 0), "a guess is nobody's stack");
}

#[test]
fn where_one_walker_alone_has_a_stack_which_is_refuted_what_is_recovered_for_the_other_is_taken() {
    const FOUND: &str = "main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 1";
    for (found, recovered, shown, by) in [
        (&WRONG, &WHOLE[..], FOUND, (0, 1)),
        // A stack that holds needs no recovery.
        (&WHOLE, &WRONG, FOUND, (1, 0)),
        (&WRONG, &WRONG, "", (1, 1)),
        // The recovered stack lacks the frame on top.
        (&WRONG, &STORED, "", (1, 0)),
    ] {
        let mut bench = bench();
        bench.publish_recovered_beside(&bench.head(10), STUB, Some(found), &[(strategy("top"), recovered)]);
        bench.drain();
        let walked = bench.recorder.agreement().walked_by(&["own", "asgct"]);
        assert_eq!((walked["asgct"], report(&bench, "top").walked), by);
        if shown.is_empty() {
            assert!(bench.shown()[0].contains("[refuted"), "the walker's, as it was: {:?}", bench.shown());
        } else {
            assert_eq!(bench.shown(), [shown]);
        }
        let refuted = u64::from(shown.is_empty());
        assert_eq!((bench.tally().samples.refuted, bench.tally().samples.sum()), (refuted, 1));
        assert_eq!(bench.recorder.refuted().values().sum::<u64>(), refuted);
    }
}

#[test]
fn what_excuses_any_stack_is_too_little_for_one_that_is_a_guess() {
    let mut bench = bench();
    bench.jvm.redefined = true;
    bench.publish_recovered(&bench.head(10), STUB, &[(strategy("probe"), &WRONG), (strategy("top"), &WHOLE)]);
    bench.drain();
    assert_eq!((bench.tally().samples.proven, report(&bench, "probe").refuted), (1, 1));
    // A redefined class excuses the same stack from a walk that needed no repair.
    bench.sample(20, &WRONG);
    assert_eq!((bench.tally().samples.plausible, bench.tally().samples.refuted), (1, 0));
}

#[test]
fn a_candidate_is_refuted_as_the_same_walk_of_the_jvms_was() {
    let mut bench = bench();
    bench.sample(10, &WRONG);
    bench.publish_recovered(&bench.head(20), STUB, &[(strategy("top"), &WRONG)]);
    bench.drain();
    assert_eq!((bench.tally().samples.refuted, bench.tally().samples.unwalked), (1, 1));
    assert_eq!(report(&bench, "top").refuted, 1);
}

#[test]
fn the_interrupted_method_is_put_back_on_top_and_is_no_proof() {
    let mut bench = bench();
    bench.publish_recovered(&bench.head(10), IN_WRITE, &[(strategy("top"), &STORED)]);
    bench.publish_recovered(&bench.head(20), IN_READ, &[(strategy("top"), &[(STORE, STEP), (MAIN, 0)])]);
    bench.drain();
    assert_eq!((bench.tally().samples.plausible, bench.tally().samples.sum()), (2, 2));
    let shown = [
        "main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 1",
        "main: shop.Main.main:10;shop.Main.store:11;shop.Main.read 1",
    ];
    assert_eq!(bench.shown(), shown);
    // The caller's bytecode does not call that method at that bci.
    bench.publish_recovered(&bench.head(30), IN_READ, &[(strategy("top"), &STORED)]);
    bench.drain();
    assert_eq!(bench.tally().samples.unwalked, 1);
    assert_eq!(report(&bench, "top").refuted, 1);
}

#[test]
fn a_lost_top_frame_has_a_placeholder() {
    let mut bench = bench();
    bench.publish_recovered(&bench.head(10), INTERPRETER, &[(strategy("probe"), &STORED)]);
    bench.drain();
    assert_eq!(bench.tally().samples.plausible, 1);
    let lost = "main: shop.Main.main:10;shop.Main.store:10;[a method that is being entered or left] 1";
    assert_eq!(bench.shown(), [lost]);
    // This compiled code belongs to an unknown method.
    bench.publish_recovered(&bench.head(20), UNKNOWN, &[(strategy("top"), &STORED)]);
    bench.drain();
    assert_eq!(bench.tally().samples.plausible, 2);
    assert_eq!(bench.shown(), [lost.replace(" 1", " 2")]);
}

#[test]
fn a_strategy_that_may_have_missed_a_caller_proves_nothing() {
    for (name, fate) in
        [("top", Fate::Proven), ("probe", Fate::Plausible), ("frame_pointer", Fate::Plausible)]
    {
        let mut bench = bench();
        bench.publish_recovered(&bench.head(10), STUB, &[(strategy(name), &WHOLE)]);
        bench.drain();
        assert_eq!(bench.tally().samples.get(fate), 1, "{name}");
        assert_eq!(bench.shown(), ["main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 1"]);
    }
}

#[test]
fn where_a_thread_has_left_java_nothing_is_lacking_on_top() {
    let mut bench = bench();
    bench.publish_recovered(&bench.head(10), INTERPRETER, &[(strategy("left_java"), &WHOLE)]);
    bench.publish_recovered(
        &bench.head(20),
        IN_READ,
        &[(strategy("left_java"), &[(READ, NATIVE), (STORE, STEP), (MAIN, 0)])],
    );
    bench.drain();
    assert_eq!((bench.tally().samples.proven, bench.tally().samples.sum()), (2, 2));
}

#[test]
fn a_witness_leaves_the_caller_out_that_the_walk_began_with() {
    for (now, agrees) in [(&[(MAIN, 0)][..], true), (&[(WRITE, 0), (STORE, 0), (AGAIN, 0)], false)] {
        for exact in [true, false] {
            let mut bench = bench();
            bench.jvm.stack = Some(now_is(now, exact));
            bench.jvm.top =
                Top { frame: Some(TopFrame { frames: 1, outermost: Some(id(STORE)) }), away: false };
            let head = Head { wants_witness: true, ..bench.head(10) };
            bench.publish_recovered(&head, IN_WRITE, &[(strategy("top"), &STORED)]);
            bench.wait_for_witness(&head);
            bench.drain();
            let counts = bench.recorder.witness.counts();
            assert_eq!((counts.exact.asked, counts.all_but_top.asked), (0, 1));
            assert_eq!(counts.all_but_top.agreed, u64::from(agrees));
            assert_eq!((counts.all_but_top.frames, counts.all_but_top.frames_left_out), (1, 2));
            assert_eq!(bench.tally().samples.refuted, u64::from(!agrees));
            let by_proof = if agrees { &counts.confirmed } else { &counts.contradicted };
            assert_eq!(by_proof.get("plausible"), Some(&1));
        }
    }
}

#[test]
fn where_nothing_holds_the_witness_is_not_waited_for() {
    let mut bench = bench();
    assert!(bench.recorder.witness.is_due());
    let head = Head { wants_witness: true, ..bench.head(10) };
    bench.publish_recovered(&head, STUB, &[(strategy("top"), &WRONG)]);
    bench.wait_for_witness(&head);
    bench.drain();
    assert_eq!(bench.recorder.witness.counts().asked, 0);
    assert!(bench.recorder.witness.next() < Duration::from_millis(500), "the next is due by its own time");
}

#[test]
fn an_unknown_strategy_recovers_nothing() {
    let mut bench = bench();
    bench.publish_recovered(&bench.head(10), STUB, &[(99, &WHOLE)]);
    // A stack stays plausible if the callees of one of its methods are unknown.
    bench.publish_recovered(
        &bench.head(20),
        STUB,
        &[(strategy("top"), &[(WRITE, 0), (LOST, 3), (MAIN, STEP)])],
    );
    bench.drain();
    assert_eq!(bench.tally().samples.plausible, 2);
    assert_eq!(report(&bench, "top").plausible, 1);
}

#[test]
fn at_a_call_that_is_not_described_the_recovered_stack_is_taken_where_the_rest_agrees() {
    // AsyncGetCallTrace uses the pc after the call, which maps to another bci of `store`.
    let asgct: [(usize, i32); 2] = [(STORE, STEP), (MAIN, 0)];
    let call = Site { pc: 0, is_call: true };
    let shown = |code: CodeAt, asgct: &[(usize, i32)], inlined: Option<usize>| {
        let mut bench = bench();
        bench.jvm.code.insert(STUB, code);
        bench.jvm.inlined.extend(inlined.map(|found| {
            (
                call,
                InlinedFrames {
                    found,
                    right: None,
                    certainty: Certainty::Exact,
                    described: DebugInfoAt::AllInstructions,
                },
            )
        }));
        let head = bench.head(10);
        bench.publish_recovered_beside(&head, STUB, Some(asgct), &[(strategy("top"), &WHOLE)]);
        bench.drain();
        bench.shown()
    };
    let recovered = ["main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 1"];
    let walked = ["main: shop.Main.main:10;shop.Main.store:11 1"];
    assert_eq!(shown(CodeAt::Other, &asgct, Some(2)), recovered);
    assert_eq!(shown(CodeAt::Interpreter, &asgct, Some(2)), walked, "interpreted code makes no leaf call");
    assert_eq!(shown(CodeAt::Other, &asgct, None), walked, "no compiled code is known there");
    assert_eq!(shown(CodeAt::Other, &asgct, Some(1)), walked, "another method was compiled");
    let elsewhere = [(STORE, STEP), (MAIN, 0), (MAIN, 0)];
    assert_ne!(shown(CodeAt::Other, &elsewhere, Some(2)), recovered, "its callers are others");
}

#[test]
fn a_stack_with_guessed_top_methods_is_plausible_for_that_reason() {
    let site = Site { pc: 0, is_call: false };
    let guess = Some("approximate_top_frame");
    for (certainty, described, reason) in [
        (Certainty::Exact, DebugInfoAt::AllInstructions, None),
        (Certainty::MethodCertain, DebugInfoAt::AllInstructions, None),
        (Certainty::Approximate, DebugInfoAt::AllInstructions, guess),
        (Certainty::Exact, DebugInfoAt::SafepointsUntilAttach, None),
        (Certainty::Approximate, DebugInfoAt::SafepointsUntilAttach, Some("compiled_before_attach")),
        (Certainty::Exact, DebugInfoAt::SafepointsByFlag, None),
        (Certainty::Approximate, DebugInfoAt::SafepointsByFlag, Some("without_debug_info")),
    ] {
        let mut bench = bench();
        bench.jvm.inlined.insert(site, InlinedFrames { found: 2, right: None, certainty, described });
        bench.publish(&Head { weight: 3, ..bench.head(10) }, &[Ok(&WHOLE)]);
        bench.drain();
        let fate = if reason.is_some() { Fate::Plausible } else { Fate::Proven };
        assert_eq!(bench.tally().weight.get(fate), 3, "{certainty:?}");
        assert_eq!(bench.recorder.recording.top_frames(), [(Some(certainty), (1, 3))].into());
        let because = bench.recorder.plausible(Duration::from_millis(2));
        let reasons: Vec<_> = because.iter().map(|(name, row)| (name.as_str(), row.alone_ms)).collect();
        let expected: Vec<_> = reason.into_iter().map(|name| (name, 6.0)).collect();
        assert_eq!(reasons, expected);
    }
}

#[test]
fn compiled_code_that_cannot_be_read_leaves_the_top_frame_uncertain() {
    for (code, expected) in [
        (CodeAt::Interpreter, Certainty::Exact),
        (CodeAt::Other, Certainty::Exact),
        (CodeAt::Method(id(STORE)), Certainty::Approximate),
        (CodeAt::Unknown, Certainty::Approximate),
    ] {
        let mut bench = bench();
        bench.jvm.code.insert(0, code);
        bench.publish(&bench.head(10), &[Ok(&WHOLE)]);
        bench.drain();
        assert_eq!(bench.recorder.recording.top_frames(), [(Some(expected), (1, 1))].into(), "{code:?}");
    }
}

#[test]
fn what_asgct_alone_finds_in_a_routine_of_the_jvm_is_uncertain() {
    // Our own walker has no stack, as in a leaf call. AsyncGetCallTrace uses the pc after the call.
    let found = |walk: &[(usize, i32)], code: CodeAt, is_asgct_alone: bool| {
        let mut bench = bench();
        bench.jvm.code.insert(STUB, code);
        bench.recorder.is_asgct_alone = is_asgct_alone;
        if is_asgct_alone {
            let found = (Ok(walk), Origin::FIRST, STUB);
            bench.publish_all(&bench.head(10), [found].into_iter());
        } else {
            bench.publish_recovered_beside(&bench.head(10), STUB, Some(walk), &[]);
        }
        bench.drain();
        let top_frames = bench.recorder.recording.top_frames();
        assert_eq!(top_frames.len(), 1);
        top_frames.into_keys().next().flatten()
    };
    let native = [(READ, NATIVE), (STORE, STEP), (MAIN, 0)];
    for alone in [false, true] {
        assert_eq!(found(&WHOLE, CodeAt::Other, alone), Some(Certainty::Approximate));
        assert_eq!(found(&WHOLE, CodeAt::Interpreter, alone), Some(Certainty::Exact));
        assert_eq!(found(&native, CodeAt::Other, alone), Some(Certainty::Exact), "a native method is on top");
    }
}

#[test]
fn a_stack_with_several_reasons_counts_for_each_and_for_none_alone() {
    let mut bench = bench();
    let site = Site { pc: 0, is_call: false };
    let certainty = Certainty::Approximate;
    bench.jvm.inlined.insert(
        site,
        InlinedFrames { found: 1, right: None, certainty, described: DebugInfoAt::AllInstructions },
    );
    // The callees of the unloaded `lost` are unknown.
    bench.sample(10, &[(WRITE, 0), (LOST, 3), (MAIN, STEP)]);
    bench.sample(20, &WHOLE);
    let because = bench.recorder.plausible(Duration::from_millis(1));
    let rows: Vec<_> =
        because.iter().map(|(name, row)| (name.as_str(), row.samples, row.weight_ms, row.alone_ms)).collect();
    assert_eq!(rows, [("approximate_top_frame", 2, 2.0, 1.0), ("class_unloaded", 1, 1.0, 0.0)]);
}

#[test]
fn a_top_frame_that_recovery_put_back_or_lost_is_not_exact() {
    let top_frames = |pc: usize| {
        let mut bench = bench();
        bench.publish_recovered(&bench.head(10), pc, &[(strategy("top"), &STORED)]);
        bench.drain();
        let because: Vec<String> = bench.recorder.plausible(Duration::from_millis(1)).into_keys().collect();
        (bench.recorder.recording.top_frames().into_keys().next().flatten(), because)
    };
    let put_back = (Some(Certainty::MethodCertain), vec!["top_frame_put_back".to_owned()]);
    assert_eq!(top_frames(IN_WRITE), put_back);
    assert_eq!(top_frames(INTERPRETER), (Some(Certainty::Approximate), vec!["unknown_top_frame".to_owned()]));
}

#[test]
fn the_power_of_the_machine_code_stands_beside_that_of_proof() {
    let mut bench = bench();
    bench.sample(10, &WHOLE);
    assert!(
        !bench.recorder.power(&mut bench.jvm).proof.contains_key("neighbouring_run"),
        "nothing was tried"
    );
    bench.jvm.neighbouring_runs = Power { tried: 4, noticed: 3 };
    let power = bench.recorder.power(&mut bench.jvm).proof;
    assert_eq!(power["neighbouring_run"], Power { tried: 4, noticed: 3 });
    assert!(power.len() > 1);
}

#[test]
fn frames_that_the_machine_code_puts_right_are_recorded() {
    let mut bench = bench();
    let site = Site { pc: 0, is_call: false };
    let right = vouch_sample::Frame::new(id(STORE), STEP);
    bench.jvm.inlined.insert(
        site,
        InlinedFrames {
            found: 2,
            right: Some([right].into()),
            certainty: Certainty::Exact,
            described: DebugInfoAt::AllInstructions,
        },
    );
    bench.sample(10, &WHOLE);
    assert_eq!(bench.shown(), ["main: shop.Main.main:10;shop.Main.store:11 1"]);
    bench.jvm.inlined.insert(
        Site { is_call: true, ..site },
        InlinedFrames {
            found: 2,
            right: Some([right].into()),
            certainty: Certainty::Exact,
            described: DebugInfoAt::AllInstructions,
        },
    );
    let head = bench.head(20);
    bench.publish_recovered(&head, STUB, &[(strategy("top"), &WHOLE)]);
    bench.drain();
    assert_eq!(bench.shown(), ["main: shop.Main.main:10;shop.Main.store:11 2"]);
}
