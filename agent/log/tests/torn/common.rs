//! Builds a run that contains every kind of data, writes it, and reads it again.

#[path = "../../../recording/tests/common/contexts.rs"]
mod contexts;
#[path = "../../../recording/tests/common/mod.rs"]
mod recordings;

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use vouch_formats::{Format, Meta};
use vouch_log::{Recovered, State, Writer, read};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{
    Amount, Category, Certainty, Func, Leaf, Marker, Recording, Refutation, Refuted, Sample, ThreadId, Trust,
    Unit, VmPart, kinds,
};
use vouch_report::{Rate, Run};

use contexts::{context, kind};
pub use recordings::{START_NS, sample, stack};

pub const MS: u64 = 1_000_000;

pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("log").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn meta(ended_ns: u64) -> Meta {
    Meta {
        product: "Shop (Vouch)".to_owned(),
        started_ns: START_NS,
        ended_ns,
        pid: 7,
        anchors: vec![[START_NS + 5, START_NS + 9]],
        ..Meta::default()
    }
}

pub fn state(recording: &Recording, ended_ns: u64, is_last: bool) -> State {
    let run = Run {
        interval_ns: MS,
        command: "Shop ✗".to_owned(),
        rate: Some(Rate::default()),
        cpu_ms: Some(0.0),
        agent_cpu_ms: Some(0.0),
        ..Run::default()
    };
    let mut state = State::new(meta(ended_ns), run, is_last);
    let tally = recording.tally();
    state.delivered.signals = tally.samples.sum();
    state.delivered.weight = tally.weight.sum();
    state
}

/// Adds one round of data to a run: every kind of data, with another thread and stack each time.
fn round(recording: &mut Recording, number: u64, threads: &mut Vec<ThreadId>) {
    let at = number * 10 * MS;
    let name = format!("shop.Cart.add{}", number % 7);
    let source = recording.source("shop/Cart.java");
    let resource = recording.resource("shop.jar");
    let func = recording.func(Func {
        name: &name,
        category: Category::Library,
        source: Some(source),
        line: Some(3),
        resource: Some(resource),
        java: true,
    });
    let root = stack(recording, &["main", &format!("work{}", number % 3)]);
    let certainties =
        [None, Some(Certainty::Exact), Some(Certainty::MethodCertain), Some(Certainty::Approximate)];
    let top_frame = certainties[usize::try_from(number % 4).unwrap()];
    let leaf = recording.leaf_frame(func, Some(17), Leaf { trust: Trust::Proven, top_frame });
    let proven = recording.stack(Some(root), leaf);
    let special = |recording: &mut Recording, name: &str, category| {
        let func =
            recording.func(Func { name, category, source: None, line: None, resource: None, java: false });
        let frame = recording.frame(func, None);
        recording.stack(None, frame)
    };
    let outside = special(recording, "GC", Category::Vm(VmPart::Gc));
    let none = special(recording, "[no stack: in Java, unknown code]", Category::NoStack);
    if number.is_multiple_of(4) {
        threads.push(recording.add_thread(&format!("worker {number}"), 100 + number, START_NS + at));
    }
    let thread = threads[threads.len() / 2];
    let request = kind(recording, "Request", &["user"]);
    let user = context(recording, None, request, &[&format!("moe {number}")]);
    let step = context(recording, Some(user), request, &["larry"]);
    for (n, (stack, trust, context)) in (1..).zip([
        (proven, Trust::Proven, Some(user)),
        (proven, Trust::Proven, Some(step)),
        (outside, Trust::Unchecked, None),
        (none, Trust::Unwalked, None),
    ]) {
        // Samples may arrive slightly out of order.
        let time = at + if n == 3 { 0 } else { n * MS };
        recording.sample(thread, Sample { trust, context, weight: 2, ..sample(time, stack) });
    }
    let refutation = recording.refutation(Refutation {
        kind: "other_callee",
        words: "calls another",
        caller: &name,
        bci: -1,
        expected: "a",
        found: "b",
    });
    recording.refuted(thread, Refuted { time_ns: START_NS + at, stack: proven, weight: 2, how: refutation });
    for kind in kinds::EVENTS {
        let id = recording.marker_kind(kind.marker);
        let text = recording.string("because");
        let values = [Marker::text_to_value(Some(text)), number, Marker::text_to_value(None), 0];
        let mut marker = Marker {
            kind: id,
            began_ns: START_NS + at,
            ended_ns: START_NS + at + 5,
            values: [0; _],
            stack: Some(proven),
        };
        for (value, told) in marker.values.iter_mut().zip(values) {
            *value = told;
        }
        for (value, field) in marker.values.iter_mut().zip(kind.marker.fields) {
            if field.unit == vouch_recording::Unit::Text {
                *value = Marker::text_to_value(Some(text));
            }
        }
        recording.add_marker((number.is_multiple_of(2)).then_some(thread), marker);
    }
    let stack = recording.stack_of_class(Some(proven), "byte[]");
    recording.amount(
        thread,
        &ALLOCATED,
        Amount { time_ns: START_NS + at, stack, amount: 4096, events: number, context: Some(user) },
    );
    recording.dropped(number % 2, 3 * (number % 2));
    if number % 5 == 3 {
        recording.end_thread(thread, START_NS + at + MS);
        recording.set_thread_cpu(thread, 17 * MS);
        recording.set_thread_name(thread, &format!("renamed {number}"));
    }
}

/// Writes a recording of `rounds` rounds. Returns the bytes of the file and the recording itself.
pub fn recorded(name: &str, rounds: u64, ended: bool) -> (Vec<u8>, Recording) {
    let folder = folder(name);
    let (mut writer, _) = Writer::create(&folder.join("a"), u64::MAX).unwrap();
    let mut recording = Recording::new();
    let heap = recording.counter("Heap", "Java objects", Unit::Bytes);
    let mut threads = Vec::new();
    writer.append(&mut recording, START_NS, Some(&state(&Recording::new(), START_NS, false))).unwrap();
    for number in 0..rounds {
        round(&mut recording, number, &mut threads);
        recording.count(heap, START_NS + number * MS, number << 20);
        writer.append(&mut recording, START_NS + number * 10 * MS, None).unwrap();
    }
    let end = START_NS + rounds * 10 * MS;
    if ended {
        let last = state(&recording, end, true);
        writer.append(&mut recording, end, Some(&last)).unwrap();
        writer.finish().unwrap();
    }
    let bytes = fs::read(writer.path()).unwrap();
    assert_eq!(bytes.len() as u64, writer.length());
    writer.remove().unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    (bytes, recording)
}

pub fn profile(recording: &Recording, meta: &Meta) -> String {
    let mut bytes = Vec::new();
    Format::from_file_name("a.json").unwrap().write(recording, meta, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    // Skip the memory that the tables take: it depends on how they grew.
    let (before, after) = text.split_once("\"bytes_recorded\":").unwrap();
    format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

pub fn reread(bytes: &[u8]) -> Result<Recovered, vouch_log::Error> {
    read(Cursor::new(bytes))
}
