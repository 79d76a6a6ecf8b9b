//! Recorded processes for the tests, and functions that read a joined profile.

#[path = "../../../recording/tests/common/contexts.rs"]
pub mod contexts;
#[path = "../../../recording/tests/common/mod.rs"]
mod recordings;

use serde_json::Value;
use vouch_formats::{Format, Identity, Meta};
use vouch_profile::document::Part;
use vouch_profile::join::{Joined, Source, join};
use vouch_recording::{Recording, Sample, StackId, Trust};
use vouch_report::{Delivered, RefutationReport, Run, TrustReport};

pub use recordings::{START_NS, sample, stack};

pub const MS: u64 = 1_000_000;
pub const HERE: &str = "this machine, since it was started";

/// A process of a service that is recorded for a second.
pub struct Process {
    pub file: &'static str,
    pub name: &'static str,
    pub pid: u32,
    pub boot: &'static str,
    pub namespace: u64,
    /// The time of the recording, in milliseconds from [`START_NS`].
    pub from_ms: u64,
    /// The epoch time at which the machine of the process was booted, in milliseconds.
    pub booted_unix_ms: u64,
    pub interval_ms: u64,
    pub recording: Recording,
    pub refutations: Vec<RefutationReport>,
}

impl Process {
    pub fn new(file: &'static str, pid: u32) -> Self {
        Self {
            file,
            name: "Shop",
            pid,
            boot: HERE,
            namespace: 1,
            from_ms: 0,
            booted_unix_ms: 1_790_000_000_000,
            interval_ms: 1,
            recording: Recording::new(),
            refutations: Vec::new(),
        }
    }

    /// Adds a thread with this many samples of each stack. The samples are a millisecond apart.
    pub fn thread(mut self, name: &str, tid: u64, stacks: &[(&[&str], u64)]) -> Self {
        let thread = self.recording.add_thread(name, tid, START_NS + self.from_ms * MS);
        let mut at = self.from_ms;
        for (names, times) in stacks {
            let stack = stack(&mut self.recording, names);
            for _ in 0..*times {
                at += 1;
                self.recording.sample(thread, proven(at * MS, stack));
            }
        }
        self
    }

    pub fn source(self) -> Source {
        let mut tally = Delivered::default();
        tally.signals = self.recording.tally().samples.sum();
        tally.weight = self.recording.tally().weight.sum();
        let run = Run {
            interval_ns: self.interval_ms * MS,
            delivered: tally,
            cpu_ms: Some(10.0),
            refutations: self.refutations,
            ..Run::default()
        };
        let started_ns = START_NS + self.from_ms * MS;
        let meta = Meta {
            product: format!("{} (Vouch)", self.name),
            process_name: self.name.to_owned(),
            pid: self.pid,
            identity: (!self.boot.is_empty()).then(|| Identity {
                boot: self.boot.to_owned(),
                namespace: self.namespace,
                pid: self.pid,
                started_ticks: 7,
            }),
            started_ns,
            ended_ns: started_ns + 1_000 * MS,
            started_unix_ns: self.booted_unix_ms * MS + started_ns,
            report: TrustReport::from_recording(&self.recording, run),
            ..Meta::default()
        };
        let mut text = Vec::new();
        Format::from_file_name(".json").unwrap().write(&self.recording, &meta, &mut text).unwrap();
        Source { file: self.file.to_owned(), document: serde_json::from_slice(&text).unwrap() }
    }
}

pub fn proven(into_ns: u64, stack: StackId) -> Sample {
    Sample { trust: Trust::Proven, ..sample(into_ns, stack) }
}

pub fn value(document: &Part) -> Value {
    serde_json::from_str(&serde_json::to_string(document).unwrap()).unwrap()
}

pub fn joined(processes: Vec<Process>) -> (Value, Joined) {
    let (document, joined) = join(processes.into_iter().map(Process::source).collect()).unwrap();
    (value(&document), joined)
}

pub fn refused(processes: Vec<Process>) -> String {
    join(processes.into_iter().map(Process::source).collect()).unwrap_err().to_string()
}

pub fn rows(column: &Value) -> Vec<usize> {
    column.as_array().unwrap().iter().map(|cell| usize::try_from(cell.as_u64().unwrap()).unwrap()).collect()
}

/// Returns the samples of a track: time, stack from the root, and weight. Idle samples have no
/// stack.
pub fn samples(profile: &Value, track: usize) -> Vec<(u64, Vec<String>, u64)> {
    let shared = &profile["shared"];
    let (func, frame) = (rows(&shared["frameTable"]["func"]), rows(&shared["stackTable"]["frame"]));
    let (name, offset) = (rows(&shared["funcTable"]["name"]), rows(&shared["stackTable"]["prefixOffset"]));
    let samples = &profile["threads"][track]["samples"];
    let mut time = 0.0;
    let mut all = Vec::new();
    for (row, stack) in samples["stack"].as_array().unwrap().iter().enumerate() {
        time += samples["timeDeltas"][row].as_f64().unwrap();
        let mut names = Vec::new();
        let mut at = stack.as_u64().map(|stack| usize::try_from(stack).unwrap());
        while let Some(stack) = at {
            names.push(shared["stringArray"][name[func[frame[stack]]]].as_str().unwrap().to_owned());
            at = (offset[stack] > 0).then(|| stack - offset[stack]);
        }
        names.reverse();
        if !names.is_empty() {
            all.push((since(time), names, samples["weight"][row].as_u64().unwrap_or(1)));
        }
    }
    all
}

/// Converts a time of a profile to whole milliseconds from [`START_NS`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the times of these tests are such"
)]
pub fn since(time_ms: f64) -> u64 {
    time_ms.round() as u64 - START_NS / MS
}

pub fn track(profile: &Value, pid: &str, name: &str) -> usize {
    let tracks = profile["threads"].as_array().unwrap();
    let found: Vec<usize> = (0..tracks.len())
        .filter(|track| tracks[*track]["pid"] == pid && tracks[*track]["name"] == name)
        .collect();
    assert_eq!(found.len(), 1, "{pid} {name}: {tracks:?}");
    found[0]
}
