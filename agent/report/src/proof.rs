//! The report's parts about proof: edges, refutations, power, and conservation of time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vouch_recording::{Recording, RefutationId};
use vouch_verify::proof::Refutation;

use crate::text::readable;
use crate::time::float;

/// The edges of all stacks. The verdicts count distinct edges, and add up to `distinct`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EdgeReport {
    /// The number of edges in all samples' stacks, repeated ones included.
    pub checked: u64,
    pub distinct: u64,
    pub proven: u64,
    /// Explained edges, by explanation.
    pub explained: BTreeMap<String, u64>,
    pub refuted: u64,
    /// The agent's CPU time for proof. Null for an audit.
    pub took_ms: Option<f64>,
}

/// The instructions that name a method.
const CALLS: [&str; 4] = ["invokevirtual", "invokespecial", "invokestatic", "invokeinterface"];

/// Returns the text of the frame that marks the wrong call in a refuted stack. `expected` is the
/// instruction in the bytecode.
pub fn sign(kind: Refutation, expected: &str) -> String {
    let words = kind.description();
    match expected.split_once(' ').filter(|(code, _)| CALLS.contains(code)) {
        Some((_, callee)) if kind == Refutation::OtherCallee => {
            format!("[✗ {words}: the bytecode calls {}]", readable(callee))
        }
        _ => format!("[✗ {words}]"),
    }
}

/// The report lists at most this many refutations.
pub const MAX_LISTED: usize = 50;

/// A refutation with its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefutationReport {
    /// The number by which the profile's markers cite it.
    pub number: usize,
    pub count: u64,
    #[serde(with = "by_name")]
    pub kind: Refutation,
    /// The method with the contradicting bytecode. Empty if the end of the stack is wrong.
    pub caller: String,
    pub bci: i32,
    /// The line, if the recording has lines and no bcis. 0 if it has neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u16>,
    /// The instruction at that bci.
    pub expected: String,
    /// The callee in the stack. Empty if the caller's bci alone is wrong.
    pub found: String,
    /// The first stack with this refutation, leaf first: `com.foo.Bar.baz(Bar.java:12) @ 7`.
    pub stack: Vec<String>,
    /// The index of the caller in `stack`.
    pub at: Option<usize>,
    /// The caller's instructions around the bci.
    pub code: Vec<String>,
    /// The contradicting stack of GetStackTrace, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessStack>,
}

impl RefutationReport {
    /// Returns the caller's position, as text that follows the caller's name.
    pub fn position(&self) -> String {
        match self.line {
            None => format!(" at bci {}", self.bci),
            Some(0) => String::new(),
            Some(line) => format!(" in line {line}"),
        }
    }

    /// Adds the refutation to a recording, with methods as in Java source. The recording gives it
    /// its number.
    pub fn add_to(&self, recording: &mut Recording) -> RefutationId {
        let [caller, expected, found] =
            [&self.caller, &self.expected, &self.found].map(|text| readable(text));
        recording.refutation(vouch_recording::Refutation {
            kind: self.kind.name(),
            words: self.kind.description(),
            caller: &caller,
            bci: self.bci,
            expected: &expected,
            found: &found,
        })
    }
}

/// A stack that GetStackTrace returned for the thread of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WitnessStack {
    /// The grade of the witness: how much of this stack must equal the walk.
    pub grade: String,
    /// The frames as text, leaf first.
    pub stack: Vec<String>,
}

/// The number of corruptions of one kind, and how many of them proof noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Power {
    pub tried: u64,
    pub noticed: u64,
}

/// The number of corruptions of witnessed stacks, and how many proof, the witness, or one of the
/// two noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessPower {
    pub tried: u64,
    pub by_proof: u64,
    pub by_witness: u64,
    pub by_either: u64,
}

impl Power {
    /// Returns the percentage that was noticed. `None` if there was no corruption to try.
    pub fn percent(self) -> Option<f64> {
        (self.tried > 0).then(|| 100.0 * float(self.noticed) / float(self.tried))
    }
}

/// The time of the samples, and the time that the kernel charged to the same threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Conservation {
    pub cpu_ms: f64,
    pub sampled_ms: f64,
    /// Sampled time divided by charged time. Null if nothing was charged.
    pub ratio: Option<f64>,
}

impl Conservation {
    pub(crate) fn new(cpu_ms: f64, sampled_ms: f64) -> Self {
        Self { cpu_ms, sampled_ms, ratio: (cpu_ms > 0.0).then(|| (sampled_ms / cpu_ms * 1e4).round() / 1e4) }
    }
}

/// Serialises a kind of refutation by its name. An unknown name, from another version of Vouch, is
/// an error.
mod by_name {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use vouch_verify::proof::Refutation;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
    pub fn serialize<S: Serializer>(kind: &Refutation, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Refutation, D::Error> {
        let name = String::deserialize(deserializer)?;
        Refutation::from_name(&name).ok_or_else(|| D::Error::custom(format!("there is no kind {name:?}")))
    }
}
