//! Tests virtual threads as contexts of the recording: which one was mounted, under which name.

use super::WHOLE;
use super::bench::Bench;
use super::contexts::{context_rows, named};
use vouch_sample::Head;
use vouch_signal::sample_layout::Origin;
use vouch_unwind::hotspot::mounted_vthread::VthreadName;

/// Encodes a name as a handler reads it.
fn name(text: &str) -> VthreadName {
    let wide = !text.chars().all(|letter| u32::from(letter) < 256);
    let letters = text.encode_utf16().flat_map(|letter| {
        let [low, high] = letter.to_le_bytes();
        if wide { vec![low, high] } else { vec![low] }
    });
    let bytes: Vec<u8> = letters.collect();
    let mut name = VthreadName { bytes: u8::try_from(bytes.len()).unwrap(), wide, ..VthreadName::default() };
    for (word, bytes) in name.words.iter_mut().zip(bytes.chunks(8)) {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(all);
    }
    name
}

fn publish(bench: &Bench, carried: u64, called: &str, context: u32) {
    let head = Head { mounted_vthread: carried, context, ..bench.head(10) };
    let candidate = (Ok(&WHOLE[..]), Origin::FIRST, 0);
    bench.publish_named(&head, &name(called), std::iter::once(candidate));
}

/// Returns the rows of [`context_rows`], each with the id of the outermost virtual thread.
fn rows_with_ids(bench: &Bench) -> Vec<(String, String, u64)> {
    let recording = &bench.recorder.recording;
    let contexts = recording.contexts();
    let id_of = |id| {
        let carried = contexts.virtual_thread_of(Some(id)).map(|carried| contexts.get(carried).values[1]);
        carried.map_or(String::new(), |id| recording.strings().get(id).to_owned())
    };
    contexts
        .ids()
        .map(id_of)
        .zip(context_rows(bench))
        .map(|(id, (path, samples))| (path, id, samples))
        .collect()
}

fn row(path: &str, id: &str, samples: u64) -> (String, String, u64) {
    (path.to_owned(), id.to_owned(), samples)
}

#[test]
fn a_virtual_thread_is_a_context_around_all_that_is_named_on_it() {
    let mut bench = Bench::new();
    let request = named(&bench, 0, "request");
    publish(&bench, 31, "worker-1", 0);
    publish(&bench, 31, "worker-1", request);
    publish(&bench, 32, "你好, a name of more than one word", request);
    publish(&bench, 33, "", 0);
    publish(&bench, Head::UNKNOWN_VTHREAD, "", request);
    publish(&bench, 0, "", request);
    bench.drain();
    assert_eq!(
        rows_with_ids(&bench),
        [
            row("worker-1", "31", 1),
            row("worker-1/request", "31", 1),
            row("你好, a name of more than one word", "32", 0),
            row("你好, a name of more than one word/request", "32", 1),
            row("[unnamed]", "33", 1),
            row("[unknown]", "[unknown]", 0),
            row("[unknown]/request", "[unknown]", 1),
            row("request", "", 1),
        ]
    );
}

#[test]
fn a_renamed_virtual_thread_is_shown_under_each_name() {
    let mut bench = Bench::new();
    publish(&bench, 31, "", 0);
    for _ in 0..3 {
        publish(&bench, 31, "first", 0);
        publish(&bench, 31, "second", 0);
    }
    bench.drain();
    assert_eq!(
        rows_with_ids(&bench),
        [row("[unnamed]", "31", 1), row("first", "31", 3), row("second", "31", 3)]
    );
}

#[test]
fn a_virtual_thread_with_an_unreadable_name_keeps_its_known_name() {
    let mut bench = Bench::new();
    unread(&bench, 31);
    publish(&bench, 31, "worker", 0);
    unread(&bench, 31);
    unread(&bench, 32);
    bench.drain();
    // The name also applies to samples before it was read. The zero row is the context that brought
    // it.
    let rows = [row("worker", "31", 2 + 1), row("worker", "31", 0), row("[unknown]", "32", 1)];
    assert_eq!(rows_with_ids(&bench), rows);
    publish(&bench, 31, "renamed", 0);
    bench.drain();
    assert!(rows_with_ids(&bench).contains(&row("renamed", "31", 1)));
}

fn unread(bench: &Bench, id: u64) {
    let head = Head { mounted_vthread: id, ..bench.head(10) };
    let candidate = (Ok(&WHOLE[..]), Origin::FIRST, 0);
    bench.publish_named(
        &head,
        &VthreadName { unread: true, ..VthreadName::default() },
        std::iter::once(candidate),
    );
}

#[test]
fn the_jvm_is_asked_for_the_mounted_thread_if_its_name_was_not_read() {
    let mut bench = Bench::new();
    bench.jvm.mounted = Some((32, "x".repeat(200)));
    publish(&bench, 31, "known", 0);
    bench.drain();
    unread(&bench, 31);
    bench.drain();
    assert_eq!(rows_with_ids(&bench), [row("known", "31", 2)], "nothing is missing");
    unread(&bench, 32);
    unread(&bench, 33);
    bench.drain();
    let long = "x".repeat(128);
    let rows = [row("known", "31", 2), row(&long, "32", 1), row(&long, "32", 0), row("[unknown]", "33", 1)];
    assert_eq!(rows_with_ids(&bench), rows, "as much of it as a handler reads");
}

#[test]
fn beyond_a_limit_virtual_threads_share_a_context() {
    let mut bench = Bench::new();
    // The limit also covers one virtual thread that is renamed repeatedly.
    for n in 1..=(1 << 15) + 5_u64 {
        publish(&bench, n, "", 0);
        publish(&bench, 1, &format!("request {n}"), 0);
        bench.drain();
    }
    publish(&bench, 1 << 20, "late", 0);
    publish(&bench, 5, "", 0);
    publish(&bench, Head::UNKNOWN_VTHREAD, "", 0);
    bench.drain();
    let rows = rows_with_ids(&bench);
    assert_eq!(rows.len(), (1 << 16) + 2);
    let last = format!("request {}", 1 << 15);
    assert!(rows.contains(&row("[unnamed]", "5", 2)) && rows.contains(&row("[unknown]", "[unknown]", 1)));
    assert!(rows.contains(&row("[others]", "[others]", 6)), "{:?}", rows.last());
    let kept = rows.iter().find(|(name, ..)| *name == last).unwrap();
    assert_eq!(*kept, row(&last, "1", 6), "it keeps the last of its names that there was room for");
}
