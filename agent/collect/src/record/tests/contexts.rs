//! Tests how the number that a handler read becomes a context of the recording.

use super::bench::Bench;
use super::{WHOLE, WRONG};
use crate::contexts::{Context, ProgramContextKind};
use vouch_sample::{Head, Reason};

pub fn named(bench: &Bench, outer: u32, value: &str) -> u32 {
    let fields = vec![("name".to_owned(), "Name".to_owned())];
    let kind = bench.contexts.kind(ProgramContextKind {
        class: "shop.Step".to_owned(),
        label: "Step".to_owned(),
        fields,
    });
    bench.contexts.number(Context { outer, kind, values: vec![value.to_owned()] }).unwrap()
}

/// Returns each context of the recording, outermost first, with its number of samples.
pub fn context_rows(bench: &Bench) -> Vec<(String, u64)> {
    let recording = &bench.recorder.recording;
    let contexts = recording.contexts();
    contexts
        .ids()
        .map(|id| {
            let values =
                contexts.outwards(Some(id)).map(|id| recording.strings().get(contexts.get(id).values[0]));
            let mut values: Vec<&str> = values.collect();
            values.reverse();
            (values.join("/"), contexts.weight_of(id).samples)
        })
        .collect()
}

#[test]
fn every_sample_has_its_context_whatever_became_of_it() {
    let mut bench = Bench::new();
    let outer = named(&bench, 0, "request");
    let inner = named(&bench, outer, "read");
    // An outer context precedes its inner one, whichever the samples show first.
    bench.publish(&Head { context: inner, ..bench.head(10) }, &[Ok(&WHOLE)]);
    bench.publish(&Head { context: outer, ..bench.head(20) }, &[Ok(&WRONG)]);
    bench.publish(&Head { context: inner, ..bench.head(30) }, &[Err(Reason::UNKNOWN_JAVA)]);
    bench.publish(&bench.head(40), &[Ok(&WHOLE)]);
    bench.drain();
    assert_eq!(context_rows(&bench), [("request".to_owned(), 1), ("request/read".to_owned(), 2)]);
    let contexts = bench.recorder.recording.contexts();
    assert_eq!((contexts.without().samples, contexts.kinds().len()), (1, 1));
    let of_thread: Vec<_> =
        bench.recorder.recording.threads()[0].samples_in_contexts().map(|(_, context)| context).collect();
    let [first, second, third, fourth] = of_thread.as_slice() else { panic!("four: {of_thread:?}") };
    assert!(first == third && first != second && first.is_some() && second.is_some() && fourth.is_none());
}

#[test]
fn an_unknown_number_is_no_context() {
    let mut bench = Bench::new();
    let known = named(&bench, 0, "request");
    for context in [known + 1, u32::MAX, 0] {
        bench.publish(&Head { context, ..bench.head(10) }, &[Ok(&WHOLE)]);
    }
    bench.drain();
    assert_eq!((context_rows(&bench).len(), bench.recorder.recording.contexts().without().samples), (0, 3));
}
