//! Helpers that write a profile and read it as JSON. They must not assert.

#[path = "../../../recording/tests/common/contexts.rs"]
pub mod contexts;
#[path = "../../../recording/tests/common/mod.rs"]
mod recordings;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;
use vouch_formats::{Format, Meta};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Measure, Recording, Sample, StackId, ThreadId};
use vouch_report::{Run, TrustReport};

pub use recordings::{START_NS, busy_thread, sample, stack};

pub fn meta() -> Meta {
    Meta {
        product: "shop.Main".into(),
        started_unix_ns: 1_790_000_000_000_000_000,
        started_ns: START_NS,
        ended_ns: START_NS + 1_000_000_000,
        pid: 4242,
        process_name: "java".into(),
        report: TrustReport::from_recording(
            &Recording::new(),
            Run { jdk: "OpenJDK 25".into(), interval_ns: 1_000_000, names_lost: 3, ..Run::default() },
        ),
        ..Meta::default()
    }
}

/// Writes a recording in the format with this ending.
pub fn write(recording: &Recording, ending: &str, out: &mut dyn Write) -> io::Result<()> {
    Format::from_file_name(ending).unwrap().write(recording, &meta(), out)
}

pub fn written(recording: &Recording) -> Value {
    let mut json = Vec::new();
    write(recording, ".json", &mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Returns the whole numbers in a column.
pub fn numbers(column: &Value) -> Vec<i64> {
    column.as_array().unwrap().iter().map(|cell| cell.as_i64().unwrap()).collect()
}

/// Returns the names of a profile's tracks.
pub fn names(profile: &Value) -> Vec<&str> {
    profile["threads"].as_array().unwrap().iter().map(|track| track["name"].as_str().unwrap()).collect()
}

/// Returns the sums of a measure by stack, as the file of folded stacks has them. Each is
/// multiplied by `times`.
pub fn folded_lines(recording: &Recording, measure: &'static Measure, times: i64) -> BTreeMap<String, i64> {
    let mut bytes = Vec::new();
    let meta = Meta { measure, ..meta() };
    Format::from_file_name("a.folded").unwrap().write(recording, &meta, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines = text.lines().map(|line| line.rsplit_once(' ').unwrap());
    lines.map(|(stack, weight)| (stack.to_owned(), weight.parse::<i64>().unwrap() * times)).collect()
}

/// Makes a recording with samples of two threads, one of them with a deep stack, and with
/// allocations. Returns it with the first thread and its stack.
pub fn measured_recording() -> (Recording, ThreadId, StackId) {
    let mut recording = Recording::new();
    let inner = stack(&mut recording, &["main", "run", "work"]);
    let deep: Vec<String> = (0..600).map(|at| format!("f{at}")).collect();
    let deep = stack(&mut recording, &deep.iter().map(String::as_str).collect::<Vec<_>>());
    let first = busy_thread(&mut recording, "a", inner, 300);
    recording.sample(first, Sample { weight: 7, ..sample(1, inner) });
    busy_thread(&mut recording, "b", deep, 2);
    for bytes in [3_000, 500] {
        let stack = recording.stack_of_class(Some(inner), "byte[]");
        let amount = Amount { time_ns: START_NS, stack, amount: bytes, events: 2, context: None };
        recording.amount(first, &ALLOCATED, amount);
    }
    (recording, first, inner)
}
