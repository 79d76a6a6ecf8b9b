//! Small recordings for the tests, and a written profile read back as JSON. It must never assert anything.
#![allow(dead_code, reason = "each test file takes what it needs")]

use serde_json::Value;
use vouch_profile::{
    Category, Fate, Func, Meta, Recording, Sample, StackId, ThreadId, TrustReport, write_firefox,
};

/// When recording begins: a machine that has been up for twelve days.
pub const START_NS: u64 = 12 * 86_400 * 1_000_000_000;

pub fn meta() -> Meta {
    Meta {
        product: "shop.Main".into(),
        interval_ns: 1_000_000,
        started_unix_ns: 1_790_000_000_000_000_000,
        started_ns: START_NS,
        ended_ns: START_NS + 1_000_000_000,
        pid: 4242,
        process_name: "java".into(),
        jdk: "OpenJDK 25".into(),
        report: TrustReport { names_lost: 3, ..TrustReport::default() },
        ..Meta::default()
    }
}

pub fn written(recording: &Recording) -> Value {
    let mut json = Vec::new();
    write_firefox(recording, &meta(), &mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// A stack of functions by name, the root first.
pub fn stack(recording: &mut Recording, names: &[&str]) -> StackId {
    let mut parent = None;
    for name in names {
        let func = recording.func(Func {
            name,
            category: Category::Application,
            source: None,
            line: None,
            resource: None,
            java: true,
        });
        let frame = recording.frame(func, None);
        parent = Some(recording.stack(parent, frame));
    }
    parent.unwrap()
}

/// A plausible sample of weight 1, so many nanoseconds into the recording.
pub fn sample(into_ns: u64, stack: StackId) -> Sample {
    Sample { time_ns: START_NS + into_ns, cpu_ns: into_ns, stack, weight: 1, fate: Fate::Plausible }
}

/// A thread with as many samples of the stack.
pub fn busy_thread(recording: &mut Recording, name: &str, stack: StackId, samples: u64) -> ThreadId {
    let thread = recording.add_thread(name, 1, START_NS);
    for n in 1..=samples {
        recording.sample(thread, sample(n * 1_000_000, stack));
    }
    recording.end_thread(thread, START_NS + samples * 1_000_000);
    thread
}

/// The whole numbers of a column.
pub fn numbers(column: &Value) -> Vec<i64> {
    column.as_array().unwrap().iter().map(|cell| cell.as_i64().unwrap()).collect()
}

/// The names of the tracks.
pub fn names(profile: &Value) -> Vec<&str> {
    profile["threads"].as_array().unwrap().iter().map(|track| track["name"].as_str().unwrap()).collect()
}
