//! Tests samples with two candidate stacks: which one is taken, and how differences are counted.

use vouch_report::AgreementReport;
use vouch_sample::{ENTRY, Head, NATIVE, Reason, answer_from_number};
use vouch_signal::sample_layout::Origin;

use super::bench::{AGAIN, Bench, DEPTH, LOST, MAIN, READ, STORE, WRITE};
use super::witness::now_is;
use super::{WHOLE, WRONG};
use crate::jvm::fake::STEP;
use crate::jvm::{Top, TopFrame};

type Walk = Result<&'static [(usize, i32)], Reason>;

const NONE: Walk = Err(Reason::UNKNOWN_JAVA);
const PROVEN: &str = "main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 1";

/// Returns the shown stacks and the agreement count of a sample with these two walks.
fn counted_for(own: Walk, asgct: Walk) -> (Vec<String>, String, AgreementReport) {
    let mut bench = Bench::new();
    bench.publish(&bench.head(10), &[own, asgct]);
    bench.drain();
    let (kind, counted) = bench.recorder.agreement().report().pop_first().unwrap();
    (bench.shown(), kind, counted)
}

#[test]
fn of_two_stacks_the_one_that_is_not_refuted_is_taken() {
    const WRONG_TOO: [(usize, i32); 3] = [(WRITE, 0), (STORE, STEP), (MAIN, 0)];
    let refuted = |stacks: &[String]| stacks[0].contains("[refuted");
    for (own, asgct, kind, own_refuted, asgct_refuted) in [
        (&WHOLE, &WRONG, "other_line", 0, 1),
        (&WRONG, &WHOLE, "other_line", 1, 0),
        (&WRONG, &WRONG_TOO, "other_line", 1, 1),
        (&WHOLE, &WHOLE, "same", 0, 0),
    ] {
        let (shown, difference, counted) = counted_for(Ok(own), Ok(asgct));
        assert_eq!((difference.as_str(), counted.samples), (kind, 1));
        assert_eq!((counted.own_refuted, counted.asgct_refuted), (own_refuted, asgct_refuted));
        let both = own_refuted + asgct_refuted == 2;
        assert_eq!(refuted(&shown), both, "{shown:?}");
        assert!(both || shown == [PROVEN]);
    }
}

#[test]
fn of_cut_stacks_the_frames_that_both_have_are_compared() {
    const DEEP: [(usize, i32); DEPTH + 2] = [(AGAIN, 0); DEPTH + 2];
    let kind = |own: Walk, asgct: Walk| counted_for(own, asgct).1;
    assert_eq!(kind(Ok(&DEEP), Ok(&DEEP)), "same");
    assert_eq!(kind(Ok(&DEEP[..DEPTH]), Ok(&DEEP)), "same", "it may have been all");
    assert_eq!(kind(Ok(&DEEP[..3]), Ok(&DEEP)), "asgct_longer", "it has ended before the other was cut");
    assert_eq!(kind(Ok(&DEEP), Ok(&DEEP[..3])), "own_longer");
    assert_eq!([kind(NONE, Ok(&DEEP)), kind(Ok(&DEEP), NONE)], ["asgct_alone", "own_alone"]);
}

#[test]
fn if_one_walker_has_no_stack_the_other_stack_is_taken() {
    let (shown, kind, _) = counted_for(NONE, Ok(&WHOLE));
    assert_eq!((shown, kind.as_str()), (vec![PROVEN.to_owned()], "asgct_alone"));
    let (shown, kind, _) = counted_for(Ok(&WHOLE), NONE);
    assert_eq!((shown, kind.as_str()), (vec![PROVEN.to_owned()], "own_alone"));
    // If both walks failed, AsyncGetCallTrace's reason is shown.
    let (shown, kind, _) = counted_for(NONE, Err(Reason::NOT_WALKABLE_JAVA));
    assert_eq!(
        (shown, kind.as_str()),
        (vec!["main: [no stack: in Java, unknown callers] 1".to_owned()], "neither")
    );
    // If neither walker reports Java code, our own walker's reason is shown.
    let (shown, kind, _) =
        counted_for(Err(Reason::NO_JAVA_FRAME), answer_from_number(-3).map(|_| &WHOLE[..]));
    assert_eq!((shown, kind.as_str()), (vec!["main: [outside Java] 1".to_owned()], "neither"));
    // AsyncGetCallTrace reports Java, so the thread is about to enter its first method.
    let (shown, ..) = counted_for(Err(Reason::NO_JAVA_FRAME), Err(Reason::UNKNOWN_JAVA));
    assert_eq!(shown, ["main: [no stack: in Java, unknown code] 1"]);
}

#[test]
fn each_kind_of_difference_is_counted_separately() {
    const SHORT: [(usize, i32); 2] = [(STORE, 0), (MAIN, 0)];
    const NATIVE_LEAF: [(usize, i32); 3] = [(READ, NATIVE), (STORE, STEP), (MAIN, 0)];
    for (own, asgct, kind) in [
        (&WHOLE[..], &SHORT[..], "own_longer"),
        (&SHORT, &WHOLE, "asgct_longer"),
        (&WHOLE, &WHOLE[..1], "own_longer"),
        (&WHOLE, &NATIVE_LEAF, "other_method"),
        (&[(AGAIN, 0), (AGAIN, 0)], &[(AGAIN, 0), (AGAIN, STEP)], "other_line"),
    ] {
        assert_eq!(counted_for(Ok(own), Ok(asgct)).1, kind);
    }
}

#[test]
fn what_was_not_asked_to_be_compared_is_not_counted() {
    let mut bench = Bench::new();
    let second = Origin { walker: 1, ..Origin::FIRST };
    bench.publish_all(&bench.head(10), [(NONE, Origin::FIRST, 0), (Ok(&WHOLE[..]), second, 0)].into_iter());
    bench.drain();
    assert_eq!(bench.shown(), [PROVEN]);
    assert!(bench.recorder.agreement().report().is_empty());
}

#[test]
fn each_stack_is_counted_for_its_walker() {
    let mut bench = Bench::new();
    let candidates: [[Walk; 2]; 5] = [
        [Ok(&WHOLE), Ok(&WHOLE)],
        [Ok(&WHOLE), NONE],
        [Ok(&WRONG), Ok(&WHOLE)],
        [NONE, Ok(&WHOLE)],
        [NONE, NONE],
    ];
    for candidates in &candidates {
        bench.publish(&bench.head(10), candidates);
    }
    bench.drain();
    let by = bench.recorder.agreement().walked_by(&["own", "asgct"]);
    assert_eq!((by["own"], by["asgct"]), (2, 2));
    // A stack that only AsyncGetCallTrace found may have begun in a leaf call.
    assert_eq!((bench.tally().samples.proven, bench.tally().samples.plausible), (2, 2));
}

#[test]
fn a_method_that_is_left_may_take_its_caller_along_before_the_witness_comes() {
    let walk = [(WRITE, ENTRY), (STORE, 0), (MAIN, 0)];
    for (begun, fate) in [(None, 1), (Some(true), 0)] {
        let mut bench = Bench::new();
        bench.jvm.stack = Some(now_is(&[(LOST, 0), (MAIN, 0)], false));
        // Compiled code has one frame there: that of the interrupted method or of its caller.
        bench.jvm.top = Top { frame: Some(TopFrame { frames: 1, outermost: None }), away: false };
        let head = Head { wants_witness: true, ..bench.head(10) };
        bench.publish_all(
            &head,
            std::iter::once((Ok(&walk[..]), Origin { resumed: begun, ..Origin::FIRST }, 7)),
        );
        bench.wait_for_witness(&head);
        bench.drain();
        assert_eq!(bench.tally().samples.refuted, fate, "{begun:?}");
    }
}
