//! Tests how events enter the recording: their threads, their values, and their stacks.

use std::sync::atomic::AtomicU64;

use vouch_recording::kinds;
use vouch_recording::measures::{ALLOCATED, BLOCKED};
use vouch_recording::{Category, Marker, MarkerField, MarkerKind, Recording, StackId, Unit};
use vouch_report::WaitingReport;
use vouch_sample::{Event, Frame, Measured, MethodId, pad_values};
use vouch_signal::event::{self, EventDetails};
use vouch_signal::slots::{Wait, Waiting};

use super::bench::{Bench, MAIN, STORE, TID, WRITE};
use crate::choices::{Refuted, Witnessing};
use crate::events::{EventType, Payload};
use crate::jvm::WaitTarget;

static SHOWN: AtomicU64 = AtomicU64::new(0);

const NAP: EventType = EventType {
    number: 1 << 40,
    marker: &MarkerKind {
        key: "nap",
        label: "Nap",
        description: "Nothing was done.",
        category: Category::Other,
        fields: &[
            MarkerField { key: "sheep", label: "Sheep", unit: Unit::Count },
            MarkerField { key: "dream", label: "Dream", unit: Unit::Text },
        ],
    },
    payload: Payload::Stack,
    measure: None,
    shown: &SHOWN,
};
/// An event type that the test's program declares.
const UPLOAD: EventType = EventType {
    number: (1 << 40) + 1,
    marker: &MarkerKind {
        key: "marker:shop.Upload",
        label: "Upload",
        description: "A marker of the program's own.",
        category: Category::Application,
        fields: &[
            MarkerField { key: "user", label: "user", unit: Unit::Text },
            MarkerField { key: "size", label: "size", unit: Unit::Bytes },
            MarkerField { key: "none", label: "none", unit: Unit::Text },
            MarkerField { key: "file", label: "file", unit: Unit::Text },
        ],
    },
    payload: Payload::Program,
    measure: None,
    shown: &SHOWN,
};
const EXCEPTION: EventType = of_jvm((1 << 40) + 2, &kinds::EXCEPTION.marker, Payload::Constructors);
const COMPILATION: EventType = of_jvm((1 << 40) + 3, &kinds::COMPILATION.marker, Payload::Method);
const ALLOCATION: EventType = of_jvm((1 << 40) + 4, &kinds::ALLOCATION.marker, Payload::Stack);
const STILL_ENTERS: EventType = of_jvm((1 << 40) + 5, &kinds::STILL_ENTERS, Payload::Stack);

const MONITOR: EventType =
    EventType { measure: Some(&BLOCKED), ..of_jvm((1 << 40) + 6, &kinds::MONITOR.marker, Payload::Texts) };

const fn of_jvm(number: u64, marker: &'static MarkerKind<'static>, payload: Payload) -> EventType {
    EventType { number, marker, payload, measure: None, shown: &SHOWN }
}

/// Finds an event type that the test's program declares.
pub fn of_program(number: u64) -> Option<EventType> {
    (number == UPLOAD.number).then_some(UPLOAD)
}

/// The id of a method of Vouch's Java library.
const LIBRARY: usize = 90;

fn bench(types: &[EventType]) -> Bench {
    Bench::with(Refuted::Isolate, Witnessing::Auto, types)
}

fn publish(bench: &Bench, event: &Event, more: EventDetails<'_>) {
    event::write(bench.lane.claim(200).unwrap(), event, more);
}

fn drain(bench: &mut Bench) {
    let Bench { recorder, lane, jvm, .. } = bench;
    recorder.drain_events(std::slice::from_ref(lane), jvm);
}

/// Creates a nap event of the thread `main`.
fn nap_event(bench: &Bench) -> Event {
    Event {
        kind: NAP.number,
        began: 150,
        ended: 170,
        tid: TID,
        serial: bench.serial,
        values: pad_values([7]),
    }
}

fn functions(recording: &Recording, stack: Option<StackId>) -> Vec<&str> {
    let outwards = std::iter::successors(stack, |stack| recording.stacks().get(*stack).parent);
    let name = |stack| {
        let frame = recording.leaf(stack);
        recording.strings().get(recording.funcs().get(frame.func).name)
    };
    outwards.map(name).collect()
}

#[test]
fn an_event_is_a_marker_of_its_thread() {
    let mut bench = bench(&[NAP]);
    bench.threads.rename(bench.serial, "request", 100);
    let nap = nap_event(&bench);
    let stranger = Event { tid: TID + 9, serial: 900, ..nap };
    for event in [
        nap,
        Event { began: 50, ..nap },
        Event { tid: 0, serial: 0, ..nap },
        Event { kind: 3, ..nap },
        stranger,
    ] {
        publish(&bench, &event, EventDetails::default());
    }
    bench.lane.claim(20).unwrap().publish(2);
    drain(&mut bench);
    let recording = &bench.recorder.recording;
    assert_eq!(recording.marker_kinds().rows().len(), 1);
    let markers: Vec<_> =
        recording.threads().iter().map(|thread| (thread.name(), thread.markers().len())).collect();
    assert_eq!(markers, [("request", 1), ("main", 1)], "each under the name of its time");
    let [of_all] = recording.markers() else { panic!("one happened to all: {:?}", recording.markers()) };
    assert_eq!((of_all.began_ns, of_all.ended_ns, of_all.values[0]), (150, 170, 7));
    assert_eq!(bench.recorder.events_lost(), 2, "one of an unknown kind, one torn");
}

#[test]
fn an_event_has_its_texts_and_its_stack_and_is_no_sample() {
    let mut bench = bench(&[NAP]);
    let frames = [(WRITE, 0), (STORE, 0), (MAIN, 0)].map(|(method, bci)| Frame::new(MethodId(method), bci));
    let nap = nap_event(&bench);
    publish(&bench, &nap, EventDetails { frames: &frames, text: "of sheep" });
    publish(&bench, &nap, EventDetails { frames: &frames[1..], text: "" });
    // `main` does not call `write`.
    publish(&bench, &nap, EventDetails { frames: &[frames[0], frames[2]], text: "" });
    drain(&mut bench);
    let recording = &bench.recorder.recording;
    let markers = recording.threads()[0].markers();
    let text = |value| Marker::text_from_value(value).map(|text| recording.strings().get(text));
    let texts: Vec<_> = markers.iter().map(|marker| text(marker.values[1])).collect();
    assert_eq!(texts, [Some("of sheep"), None, None]);
    let stacks: Vec<_> = markers.iter().map(|marker| functions(recording, marker.stack)).collect();
    assert_eq!(stacks[0], ["shop.Main.write", "shop.Main.store", "shop.Main.main"]);
    assert_eq!(stacks[1], ["shop.Main.store", "shop.Main.main"]);
    assert_eq!(stacks[2].last(), Some(&"[refuted: other_callee]"), "shown apart: {:?}", stacks[2]);
    assert_eq!(recording.tally().samples.sum(), 0);
    assert!(bench.recorder.refutations().is_empty(), "refutations are of samples");
    assert_eq!((bench.recorder.events_refuted(), bench.recorder.edges().checked), (1, 0));
}

#[test]
fn a_marker_of_the_program_has_all_its_texts_and_no_frame_of_the_library() {
    let mut bench = bench(&[NAP]);
    bench.jvm.add_method(LIBRARY, 0, "dev/vouch/Marker", "commit", &[]);
    let reported = |lengths: [u64; 2]| Event {
        kind: UPLOAD.number,
        values: pad_values([lengths[0], 512, 0, lengths[1]]),
        ..nap_event(&bench)
    };
    let (whole, askew) = (reported(["Zoë".len() as u64, 3]), reported([3, 99]));
    let frames = [LIBRARY, LIBRARY, STORE, MAIN].map(|method| Frame::new(MethodId(method), 0));
    publish(&bench, &whole, EventDetails { frames: &frames, text: "Zoëcat" });
    publish(&bench, &whole, EventDetails { frames: &[], text: "Zoëcat" });
    // One text length ends within a character, the other past the end of the text.
    publish(&bench, &askew, EventDetails { frames: &frames[..1], text: "Zoëcat" });
    drain(&mut bench);
    let recording = &bench.recorder.recording;
    let markers = recording.threads()[0].markers();
    let texts = |at: usize| {
        [0, 2, 3].map(|value| {
            Marker::text_from_value(markers[at].values[value]).map(|text| recording.strings().get(text))
        })
    };
    assert_eq!((texts(0), markers[0].values[1]), ([Some("Zoë"), None, Some("cat")], 512));
    assert_eq!(texts(2), [None; 3]);
    assert_eq!(functions(recording, markers[0].stack), ["shop.Main.store", "shop.Main.main"]);
    assert_eq!([markers[1].stack, markers[2].stack], [None, None]);
}

#[test]
fn an_exception_has_the_stack_of_where_it_was_made_without_its_constructors() {
    const FILLS: usize = 91;
    const THROWABLE: usize = 92;
    const OOPS: usize = 93;
    const CART: usize = 94;
    let mut bench = bench(&[EXCEPTION]);
    for (method, class, name) in [
        (FILLS, "java/lang/Throwable", "fillInStackTrace"),
        (THROWABLE, "java/lang/Throwable", "<init>"),
        (OOPS, "shop/Oops", "<init>"),
        (CART, "shop/Cart", "<init>"),
    ] {
        bench.jvm.add_method(method, 0, class, name, &[]);
    }
    let stacks: [&[usize]; 4] = [
        &[FILLS, FILLS, THROWABLE, OOPS, OOPS, STORE, MAIN],
        &[FILLS, FILLS, STORE, MAIN],
        &[FILLS, FILLS, THROWABLE, OOPS, CART],
        &[FILLS, THROWABLE, OOPS],
    ];
    for methods in stacks {
        let frames: Vec<_> = methods.iter().map(|method| Frame::new(MethodId(*method), 0)).collect();
        let event = Event { kind: EXCEPTION.number, values: pad_values([0]), ..nap_event(&bench) };
        publish(&bench, &event, EventDetails { frames: &frames, text: "shop.Oops" });
    }
    drain(&mut bench);
    let recording = &bench.recorder.recording;
    let markers = recording.threads()[0].markers();
    let class =
        |marker: &Marker| Marker::text_from_value(marker.values[0]).map(|text| recording.strings().get(text));
    assert!(markers.iter().all(|marker| class(marker) == Some("shop.Oops")));
    let shown: Vec<_> = markers.iter().map(|marker| functions(recording, marker.stack)).collect();
    assert_eq!(shown[0], ["shop.Main.store", "shop.Main.main"]);
    assert_eq!(shown[1], ["shop.Main.store", "shop.Main.main"], "a trace that the program fills in anew");
    assert_eq!(shown[2][0], "shop.Cart.<init>", "a constructor that makes the exception");
    assert_eq!(markers[3].stack, None);
}

#[test]
fn a_method_is_named_and_an_allocation_is_no_marker() {
    let mut bench = bench(&[COMPILATION, ALLOCATION]);
    let event =
        |event_type: EventType, values| Event { kind: event_type.number, values, ..nap_event(&bench) };
    let frame = Frame::new(MethodId(STORE), 0);
    let compiled = Event { tid: 0, serial: 0, ..event(COMPILATION, pad_values([0, 900])) };
    let allocated = event(ALLOCATION, pad_values([0, 24, 4_000]));
    publish(&bench, &compiled, EventDetails { frames: &[frame], text: "" });
    publish(&bench, &allocated, EventDetails { frames: &[frame], text: "byte[]" });
    drain(&mut bench);
    let recording = &bench.recorder.recording;
    let [marker] = recording.markers() else { panic!("one method: {:?}", recording.markers()) };
    assert_eq!(
        Marker::text_from_value(marker.values[0]).map(|text| recording.strings().get(text)),
        Some("shop.Main.store")
    );
    assert_eq!((marker.values[1], marker.stack), (900, None));
    let thread = &recording.threads()[0];
    let [amount] = thread.amounts().get(&ALLOCATED) else { panic!("one object: {:?}", thread.amounts()) };
    assert_eq!((amount.amount, amount.events), (4_000, 167), "the number of objects of 24 bytes");
    assert_eq!(functions(recording, Some(amount.stack)), ["byte[]", "shop.Main.store"]);
    assert!(thread.markers().is_empty());
}

#[test]
fn a_wait_counts_as_blocked_time_and_as_a_marker_or_as_one_of_both() {
    let mut bench = bench(&[MONITOR]);
    let frame = Frame::new(MethodId(STORE), 0);
    for (amount, is_shown) in [(20, true), (500, false), (0, true)] {
        let mut values = pad_values([9, 6]);
        Measured { amount, events: 3, is_shown }.store(&mut values);
        let event = Event { kind: MONITOR.number, values, ..nap_event(&bench) };
        publish(&bench, &event, EventDetails { frames: &[frame], text: "shop.Cartworker" });
    }
    drain(&mut bench);
    let recording = &bench.recorder.recording;
    let thread = &recording.threads()[0];
    let amounts = thread.amounts().get(&BLOCKED);
    assert_eq!(amounts.iter().map(|it| (it.amount, it.events)).collect::<Vec<_>>(), [(20, 3), (500, 3)]);
    assert_eq!(functions(recording, Some(amounts[0].stack)), ["shop.Cart", "shop.Main.store"]);
    assert_eq!(thread.markers().len(), 2, "those that are shown");
    for marker in thread.markers() {
        let texts = [0, 1].map(|at| Marker::text_from_value(marker.values[at]));
        let texts = texts.map(|text| text.map(|text| recording.strings().get(text)));
        assert_eq!(texts, [Some("shop.Cart"), Some("worker")]);
        assert_eq!(marker.values[2..], [0; 6], "what it stands for is in no field");
    }
}

#[test]
fn an_unfinished_wait_for_a_lock_is_reported_with_its_owner() {
    let mut bench = bench(&[STILL_ENTERS]);
    let wait = Wait { since: 1_000_000, kind: STILL_ENTERS.number, note: 0 };
    let waiting = vec![Waiting { tid: TID, serial: bench.serial, wait }; 300];
    assert!(bench.recorder.still_waiting(waiting.clone(), &mut bench.jvm).is_empty(), "they are over");
    bench.jvm.wait_target =
        Some(WaitTarget { class: "shop.Cart".to_owned(), owner: Some("worker".to_owned()) });
    let mut still = bench.recorder.still_waiting(waiting, &mut bench.jvm);
    assert_eq!(still.len(), 200, "a program may have thousands");
    still.truncate(1);
    let before = bench.recorder.recording.marker_counts();
    let reported = bench.recorder.take_still(still, 3_000_000, &mut bench.jvm);
    let wanted = WaitingReport {
        thread: "main".to_owned(),
        class: "shop.Cart".to_owned(),
        owner: Some("worker".to_owned()),
        waited_ms: 2.0,
    };
    assert_eq!(reported, [wanted]);
    let [marker] = bench.recorder.recording.threads()[0].markers() else { panic!("one marker") };
    assert_eq!((marker.began_ns, marker.ended_ns), (1_000_000, 3_000_000));
    // An event that had not ended at a dump is recorded again when it ends.
    bench.recorder.recording.truncate_markers(&before);
    assert!(bench.recorder.recording.threads()[0].markers().is_empty());
}
