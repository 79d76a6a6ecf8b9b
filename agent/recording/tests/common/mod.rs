//! Small recordings for the tests of all crates that read one. These functions must not assert.
#![allow(dead_code, reason = "each test file takes what it needs")]

use vouch_recording::{Category, Func, Recording, Sample, StackId, ThreadId, Trust};

/// The time when the recording begins: CLOCK_MONOTONIC of a machine that has run for 12 days.
pub const START_NS: u64 = 12 * 86_400 * 1_000_000_000;

/// Adds a stack of functions by name, the root first.
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

/// Makes a plausible sample of weight 1, `into_ns` nanoseconds after the beginning of the
/// recording.
pub fn sample(into_ns: u64, stack: StackId) -> Sample {
    Sample {
        time_ns: START_NS + into_ns,
        cpu_ns: into_ns,
        stack,
        weight: 1,
        trust: Trust::Plausible,
        context: None,
    }
}

/// Adds a thread with `samples` samples of this stack, one each millisecond.
pub fn busy_thread(recording: &mut Recording, name: &str, stack: StackId, samples: u64) -> ThreadId {
    let thread = recording.add_thread(name, 1, START_NS);
    for n in 1..=samples {
        recording.sample(thread, sample(n * 1_000_000, stack));
    }
    recording.end_thread(thread, START_NS + samples * 1_000_000);
    thread
}
