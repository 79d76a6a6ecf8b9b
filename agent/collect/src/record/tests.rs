//! Tests the stages from a lane's entries to the recording, without a JVM. The entries are
//! well-formed, as handlers write them, or malformed.

mod agreement;
mod bench;
mod contexts;
mod events;
mod mounted_vthread;
mod recovered;
mod traces;
mod wall_clock;
mod witness;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use vouch_sample::{Cut, Head, MethodId, NATIVE, Reason, Unsignalled};
use vouch_signal::lane::Lane;

use crate::choices::{Refuted, Witnessing};
use crate::jvm::fake::{STEP, THREAD_ENTRY};
use bench::{AGAIN, Bench, DEPTH, LOST, MAIN, READ, STORE, TID, WRITE};

/// A correct stack of the test program: `main` called `store`, which called `write`.
const WHOLE: [(usize, i32); 3] = [(WRITE, 0), (STORE, 0), (MAIN, 0)];
/// A wrong stack of the test program: `main` called `store` where its bytecode calls `lost`.
const WRONG: [(usize, i32); 3] = [(WRITE, 0), (STORE, 0), (MAIN, STEP)];

#[test]
fn a_stack_that_its_bytecode_allows_is_proven_and_named() {
    let mut bench = Bench::new();
    bench.publish(&Head { weight: 3, ..bench.head(10) }, &[Ok(&WHOLE)]);
    bench.sample(20, &WHOLE);
    bench.sample(30, &[(READ, NATIVE), (STORE, STEP), (MAIN, 0)]);
    assert_eq!((bench.tally().samples.proven, bench.tally().weight.proven), (3, 5));
    assert_eq!(
        bench.shown(),
        [
            "main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 4",
            "main: shop.Main.main:10;shop.Main.store:11;shop.Main.read 1"
        ]
    );
    let edges = bench.recorder.edges();
    assert_eq!((edges.checked, edges.distinct, edges.proven), (6, 3, 3));
}

#[test]
fn a_stack_that_its_bytecode_forbids_is_refuted_and_stands_apart() {
    let mut bench = Bench::new();
    bench.sample(10, &WHOLE);
    bench.sample(20, &WRONG);
    bench.sample(30, &WRONG);
    assert_eq!((bench.tally().samples.proven, bench.tally().samples.refuted), (1, 2));
    let stacks = bench.shown();
    assert_eq!(
        stacks,
        [
            "main: [refuted: other_callee];shop.Main.main:11;[✗ no such call: the bytecode calls shop.Main.lost()];\
             shop.Main.store:10;shop.Main.write 2",
            "main: shop.Main.main:10;shop.Main.store:10;shop.Main.write 1",
        ]
    );
    let refutations = bench.recorder.refutations();
    let [report] = refutations.as_slice() else { panic!("one place is against both: {refutations:?}") };
    assert_eq!((report.count, report.bci, report.at, report.number), (2, STEP, Some(2), 1));
    assert_eq!(report.expected, "invokestatic shop/Main.lost:()V");
    assert_eq!(report.found, "shop/Main.store:()V");
    assert_eq!(bench.recorder.recording.threads()[0].refuted().len(), 2);
}

#[test]
fn refuted_stacks_are_kept_or_dropped_as_was_asked_and_their_time_stays() {
    for (wish, stack) in [
        (Refuted::Keep, "main: shop.Main.main:11;shop.Main.store:10;shop.Main.write 1"),
        (Refuted::Drop, "main: [refuted: other_callee] 1"),
    ] {
        let mut bench = Bench::with(wish, Witnessing::Auto, &[]);
        bench.sample(10, &WRONG);
        assert_eq!((bench.shown(), bench.tally().weight.refuted), (vec![stack.to_owned()], 1));
    }
}

#[test]
fn a_stack_that_proof_cannot_decide_is_plausible() {
    let mut bench = Bench::new();
    // The callees of the unloaded `lost` are unknown, and a cut stack has no known root.
    bench.sample(10, &[(WRITE, 0), (LOST, 3), (MAIN, STEP)]);
    bench.sample(20, &[(AGAIN, 0); DEPTH + 1]);
    assert_eq!(bench.tally().samples.plausible, 2);
    let cut = format!("main: [frames left out]{} 1", ";shop.Main.again:10".repeat(DEPTH));
    assert_eq!(bench.shown()[0], cut);
    assert_eq!(bench.recorder.edges().explained.keys().collect::<Vec<_>>(), ["class_unloaded"]);
}

#[test]
fn of_a_stack_that_is_cut_in_the_middle_both_ends_are_held_to_the_bytecode() {
    let shown = |lacking: &[u32], walk: &[(usize, i32)]| {
        let mut bench = Bench::new();
        for frames in lacking {
            bench.take(10, walk, Some(Cut { at: 2, missing: *frames }));
        }
        (bench.shown(), bench.tally().samples)
    };
    // No call is checked across the cut, and the number of missing frames makes no distinct stack.
    let (stacks, fates) = shown(&[7, 8], &[(WRITE, 0), (STORE, 0), (STORE, 0), (MAIN, 0)]);
    let ends = "shop.Main.main:10;shop.Main.store:10;[frames left out];shop.Main.store:10;shop.Main.write 2";
    assert_eq!((stacks, fates.plausible), (vec![format!("main: {ends}")], 2));
    let wrong_root = shown(&[7], &[(WRITE, 0), (STORE, 0), (MAIN, 0), (STORE, 0)]).1;
    let wrong_outer = shown(&[7], &[(WRITE, 0), (STORE, 0), (WRITE, 0), (MAIN, 0)]).1;
    let wrong_inner = shown(&[7], &[(STORE, 0), (WRITE, 0), (STORE, 0), (MAIN, 0)]).1;
    assert_eq!([wrong_root, wrong_outer, wrong_inner].map(|fates| fates.refuted), [1; 3]);
}

#[test]
fn what_is_refuted_of_a_cut_stack_is_shown_with_the_cut() {
    let mut bench = Bench::new();
    for at in [2, 3] {
        bench.take(10, &[(WRITE, 0), (STORE, 0), (STORE, 0), (MAIN, STEP)], Some(Cut { at, missing: 7 }));
    }
    let shown = bench.shown();
    assert!(
        shown.iter().all(|stack| stack.contains("[refuted: ") && stack.contains(";[frames left out];")),
        "{shown:?}"
    );
}

#[test]
fn what_stands_on_both_sides_of_a_cut_is_no_place_to_refute() {
    let mut bench = Bench::new();
    let walk = [(WRITE, 0), (STORE, 0), (MAIN, STEP), (STORE, 0), (MAIN, STEP)];
    bench.take(10, &walk, Some(Cut { at: 2, missing: 7 }));
    let refutations = bench.recorder.refutations();
    let [report] = refutations.as_slice() else { panic!("{refutations:?}") };
    assert_eq!((report.stack[2].as_str(), report.at), ("[frames left out]", Some(5)));
    let place = "shop.Main.main:11;[✗ no such call: the bytecode calls shop.Main.lost()];shop.Main.store:10";
    let rest = ";shop.Main.main:11;[frames left out];shop.Main.store:10;shop.Main.write 1";
    assert_eq!(bench.shown(), [format!("main: [refuted: other_callee];{place}{rest}")]);
}

#[test]
fn of_a_stack_for_which_there_is_no_room_both_ends_are_kept() {
    let mut bench = Bench::with(Refuted::Keep, Witnessing::Auto, &[]);
    for more in [DEPTH - 2, DEPTH - 1, DEPTH] {
        let walk = [vec![(WRITE, 0)], vec![(AGAIN, 0); more], vec![(MAIN, 0)]].concat();
        bench.take(10, &walk, None);
    }
    let again = |frames| ";shop.Main.again:10".repeat(frames);
    let (half, whole) = (again(DEPTH / 2 - 1), again(DEPTH - 2));
    assert_eq!(
        bench.shown(),
        [
            format!("main: shop.Main.main:10{half};[frames left out]{half};shop.Main.write 2"),
            format!("main: shop.Main.main:10{whole};shop.Main.write 1"),
        ]
    );
}

#[test]
fn a_frame_without_a_method_refutes_and_a_name_that_is_lost_is_counted() {
    let mut bench = Bench::new();
    bench.sample(10, &[(WRITE, 0), (0, 0), (MAIN, 0)]);
    bench.sample(20, &[(99, 0), (STORE, 0), (MAIN, 0)]);
    assert_eq!(bench.tally().samples.refuted, 2);
    let kinds = bench.recorder.refuted();
    assert_eq!((kinds["null_method"], kinds["unknown_method"]), (1, 1));
    assert_eq!(bench.recorder.names_lost(), 2);
    assert!(bench.shown().iter().all(|stack| stack.contains("[unknown method]")));
}

#[test]
fn a_method_without_an_id_refutes_no_stack() {
    let mut bench = Bench::new();
    let unnumbered = MethodId::UNNUMBERED.0;
    bench.sample(10, &[(WRITE, 0), (unnumbered, 0), (MAIN, 0)]);
    bench.sample(20, &[(unnumbered, 0)]);
    bench.sample(30, &[(WRITE, 0), (STORE, 0), (unnumbered, 0)]);
    let fates = bench.tally().samples;
    assert_eq!((fates.plausible, fates.refuted), (3, 0));
    assert!(bench.recorder.edges().explained["no_id"] > 0);
}

#[test]
fn a_sample_without_a_stack_says_why() {
    let mut bench = Bench::new();
    for why in [Reason::UNKNOWN_JAVA, Reason::UNKNOWN_JAVA, Reason::CRASHED, Reason::STOPPED] {
        bench.publish(&bench.head(10), &[Err(why)]);
    }
    for why in [Reason::NO_JAVA_FRAME, Reason::NO_JAVA_THREAD] {
        bench.publish(&bench.head(10), &[Err(why)]);
    }
    bench.publish(&bench.head(10), &[]);
    bench.drain();
    let fates = bench.tally().samples;
    assert_eq!((fates.unwalked, fates.outside, fates.sum()), (4, 3, 7));
    let reasons = bench.recorder.unwalked();
    assert_eq!((reasons["unknown_Java"], reasons["crashed"], reasons["stopped"]), (2, 1, 1));
    assert_eq!(
        bench.shown(),
        [
            "main: [no stack: in Java, unknown code] 2",
            "main: [no stack: the walk faulted] 1",
            "main: [no stack: walking was stopped] 1",
            "main: [outside Java] 3"
        ]
    );
}

#[test]
fn what_was_due_without_a_signal_is_recorded_without_a_stack() {
    let mut bench = Bench::new();
    let due = |tid, serial, is_java| Unsignalled { tid, serial, weight: 5, time: 10, cpu: 10, is_java };
    let due = [due(TID, bench.serial, true), due(TID + 1, 77, false)];
    bench.recorder.take_unsignalled(&due);
    assert_eq!((bench.tally().weight.unwalked, bench.tally().weight.outside), (5, 5));
    assert_eq!(bench.recorder.unwalked()["not_signalled"], 1);
}

#[test]
fn what_a_thread_ran_before_its_end_is_unwalked_if_it_ran_java_and_outside_if_not() {
    let mut bench = Bench::new();
    bench.publish(&Head { weight: 3, ..bench.head(10) }, &[Err(Reason::THREAD_ENDED)]);
    bench.publish(&Head { tid: 7, serial: 0, weight: 2, ..bench.head(20) }, &[Err(Reason::THREAD_ENDED)]);
    bench.drain();
    assert_eq!((bench.tally().weight.unwalked, bench.tally().weight.outside), (3, 2));
    assert_eq!(bench.recorder.unseen(), (&BTreeMap::from([(Reason::THREAD_ENDED, 3)]), 5));
    let ended = "main: [no stack: its thread ended, or left the recording, before the next sample] 3";
    assert_eq!(bench.shown(), [ended, "thread 7: [native] 2"]);
}

#[test]
fn time_that_was_passed_over_has_no_stack_in_a_java_thread_and_is_outside_in_another() {
    let mut bench = Bench::new();
    bench.publish(&Head { weight: 4, ..bench.head(10) }, &[Err(Reason::PASSED_OVER)]);
    bench.publish(&Head { tid: 7, serial: 0, weight: 2, ..bench.head(20) }, &[Err(Reason::PASSED_OVER)]);
    bench.drain();
    assert_eq!((bench.tally().weight.unwalked, bench.tally().weight.outside), (4, 2));
    assert_eq!(bench.recorder.unseen(), (&BTreeMap::from([(Reason::PASSED_OVER, 4)]), 6));
    assert_eq!(bench.recorder.unwalked()["passed_over"], 1);
}

#[test]
fn each_sample_goes_to_the_name_that_its_thread_had_then() {
    let mut bench = Bench::new();
    bench.threads.rename(bench.serial, "request", 100);
    // Lanes deliver samples in any order of time.
    for time in [150, 50, 120, 99, 100] {
        bench.sample(time, &WHOLE);
    }
    let stack = "shop.Main.main:10;shop.Main.store:10;shop.Main.write";
    assert_eq!(bench.shown(), [format!("main: {stack} 2"), format!("request: {stack} 3")]);
}

#[test]
fn an_unknown_thread_has_a_track_by_its_number() {
    let mut bench = Bench::new();
    bench.publish(&Head { tid: 7, serial: 0, ..bench.head(10) }, &[Err(Reason::NO_JAVA_THREAD)]);
    bench.publish(&Head { tid: 7, serial: 900, ..bench.head(20) }, &[Err(Reason::NO_JAVA_THREAD)]);
    bench.drain();
    assert_eq!(bench.shown(), ["thread 7: [native] 2"]);
}

#[test]
fn an_id_means_what_it_meant_when_the_sample_was_taken() {
    let mut bench = Bench::new();
    bench.sample(50, &[(MAIN, 0)]);
    bench.jvm.add_method(MAIN, 100, "plug/In", "main", &["store"]);
    bench.sample(150, &[(MAIN, 0)]);
    // A late sample from before the method's reload keeps the old name.
    bench.sample(60, &[(MAIN, 0)]);
    assert_eq!(bench.shown(), ["main: plug.In.main:10 1", "main: shop.Main.main:10 2"]);
    assert_eq!(bench.tally().samples.proven, 3);
}

#[test]
fn a_stack_must_end_where_its_thread_began() {
    let mut bench = Bench::new();
    let (started, attached) =
        (bench.thread(TID + 1, THREAD_ENTRY, "pool"), bench.thread(TID + 2, 1, "native"));
    for serial in [bench.serial, started, attached] {
        bench.publish(&Head { serial, ..bench.head(10) }, &[Ok(&[(WRITE, 0), (STORE, 0)])]);
    }
    bench.drain();
    let fates = bench.tally().samples;
    // Java starts no thread in `store`, but native code may.
    assert_eq!((fates.refuted, fates.plausible), (2, 1));
    assert_eq!(bench.recorder.refuted()["wrong_root"], 2);
}

#[test]
fn what_the_vms_own_threads_are_asked_to_call_may_be_anything() {
    let mut bench = Bench::new();
    for (at, name) in (1..).zip(["Attach Listener", "Notification Thread", "Finalizer"]) {
        let serial = bench.thread(TID + at, THREAD_ENTRY, name);
        bench.publish(&Head { serial, ..bench.head(10) }, &[Ok(&[(WRITE, 0), (STORE, 0)])]);
    }
    bench.drain();
    let fates = bench.tally().samples;
    assert_eq!((fates.refuted, fates.plausible), (1, 2));
}

#[test]
fn the_first_thread_of_a_jvm_that_somebody_elses_program_made_may_begin_anywhere() {
    let mut bench = Bench::new();
    bench.jvm.hosted = true;
    bench.sample(10, &[(WRITE, 0), (STORE, 0)]);
    let fates = bench.tally().samples;
    assert_eq!((fates.refuted, fates.plausible), (0, 1));
}

#[test]
fn the_power_of_proof_is_measured_on_what_was_recorded() {
    let mut bench = Bench::new();
    bench.sample(10, &WHOLE);
    let power = bench.recorder.power(&mut bench.jvm).proof;
    let dropped = power["dropped_frames"];
    assert!(dropped.tried > 0 && dropped.noticed == dropped.tried, "{power:?}");
    let moved = power["moved_bcis"];
    assert!(moved.tried > 0 && moved.noticed == moved.tried, "{power:?}");
}

#[test]
fn what_the_handler_had_no_room_for_is_counted_once() {
    use std::sync::atomic::Ordering::Relaxed;
    let mut bench = Bench::new();
    let counters = vouch_signal::sampler::Counters::default();
    counters.dropped.store(3, Relaxed);
    counters.dropped_weight.store(9, Relaxed);
    bench.recorder.count_dropped(&counters);
    bench.recorder.count_dropped(&counters);
    counters.dropped.store(4, Relaxed);
    counters.dropped_weight.store(10, Relaxed);
    bench.recorder.count_dropped(&counters);
    assert_eq!((bench.tally().samples.dropped, bench.tally().weight.dropped), (4, 10));
}

/// Publishes arbitrary words as an entry of a lane. Returns true if the entry is long enough for a
/// sample.
fn publish_words(lane: &Lane<'_>, words: &[u64]) -> bool {
    const SHORTEST: usize = 10;
    let claim = lane.claim(words.len() + 1).unwrap();
    for (at, word) in words.iter().enumerate() {
        claim.set(at + 1, *word);
    }
    claim.publish(words.len() + 1);
    words.len() + 1 >= SHORTEST
}

/// Generates words that are likely to be valid for some field of an entry.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..8_u64,
        (0..12_u64).prop_map(|low| low << 32 | low),
        (0..12_u32).prop_map(|code| u64::from(code.wrapping_neg()))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_entry_has_it_ends_as_one_sample_of_one_fate(entries in vec(vec(word(), 0..40), 1..20)) {
        let mut bench = Bench::new();
        let mut samples = 0;
        for words in &entries {
            samples += u64::from(publish_words(&bench.lane, words));
            bench.drain();
        }
        prop_assert_eq!(bench.tally().samples.sum(), samples);
        prop_assert!(bench.shown().len() as u64 <= samples);
        bench.recorder.power(&mut bench.jvm);
    }

    #[test]
    fn any_walk_of_known_methods_is_judged(walks in vec((any::<u64>(), vec((0..7_usize, -4..12_i32), 1..12)), 1..20)) {
        let mut bench = Bench::new();
        for (time, walk) in &walks {
            bench.sample(*time, walk);
        }
        let fates = bench.tally().samples;
        prop_assert_eq!(fates.proven + fates.plausible + fates.refuted, walks.len() as u64);
        let reported: u64 = bench.recorder.refutations().iter().map(|report| report.count).sum();
        prop_assert_eq!(reported, fates.refuted);
    }
}
