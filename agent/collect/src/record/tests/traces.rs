//! Tests traces as contexts of the recording. A trace is inside the virtual thread and around the
//! program's contexts. The number of traces is limited.

use super::WHOLE;
use super::bench::Bench;
use super::contexts::{context_rows, named};
use vouch_sample::Head;

fn publish(bench: &Bench, trace: [u64; 3], carried: u64, context: u32) {
    bench.publish(&Head { trace, mounted_vthread: carried, context, ..bench.head(10) }, &[Ok(&WHOLE)]);
}

#[test]
fn a_trace_is_a_context_around_what_is_named_in_it() {
    let mut bench = Bench::new();
    let request = named(&bench, 0, "request");
    let trace = [0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331];
    publish(&bench, trace, 0, request);
    publish(&bench, trace, 0, 0);
    publish(&bench, [0, 1, 2], 0, request);
    publish(&bench, [0, 1, 2], Head::UNKNOWN_VTHREAD, request);
    // A span id without a trace id makes no trace.
    publish(&bench, [0, 0, 2], 0, request);
    bench.drain();
    let one = "00000000000000000000000000000001";
    let paths = [
        ("0af7651916cd43dd8448eb211c80319c", 1),
        ("0af7651916cd43dd8448eb211c80319c/request", 1),
        (one, 0),
        (&format!("{one}/request"), 1),
        ("[unknown]", 0),
        (&format!("[unknown]/{one}"), 0),
        (&format!("[unknown]/{one}/request"), 1),
        ("request", 1),
    ];
    let mut seen = context_rows(&bench);
    seen.sort();
    let mut expected = paths.map(|(path, samples)| (path.to_owned(), samples)).to_vec();
    expected.sort();
    assert_eq!(seen, expected);
    let recording = &bench.recorder.recording;
    let span = recording.contexts().ids().find_map(|id| recording.contexts().get(id).values.get(1).copied());
    assert_eq!(span.map(|span| recording.strings().get(span)), Some("b7ad6b7169203331"));
}

#[test]
fn what_comes_after_too_many_is_one_of_the_others() {
    const MAX_TRACES: u64 = 1 << 16;
    let mut bench = Bench::new();
    let request = named(&bench, 0, "request");
    for number in 1..=MAX_TRACES + 3 {
        publish(&bench, [0, number, 1], 0, 0);
        bench.drain();
    }
    publish(&bench, [0, MAX_TRACES + 2, 1], 0, request);
    publish(&bench, [0, 5, 1], 0, 0);
    // The mounted virtual thread is recorded even beyond the limit.
    publish(&bench, [0, MAX_TRACES + 2, 1], Head::UNKNOWN_VTHREAD, request);
    bench.drain();
    let rows = context_rows(&bench);
    let of = |path: &str| rows.iter().find(|(known, _)| known == path).map(|(_, samples)| *samples);
    assert_eq!((of("[others]"), of("[others]/request")), (Some(3), Some(1)));
    assert_eq!(of("[unknown]/[others]/request"), Some(1));
    assert_eq!(of("00000000000000000000000000000005"), Some(2), "one that was known goes on");
}
