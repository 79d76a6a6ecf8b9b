//! The report's parts about proof: checks of stacks against the bytecode, their power, and the
//! conservation of time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vouch_recording::{Recording, RefutationId};
use vouch_verify::proof::Refutation;

use crate::text::readable;
use crate::time::float;

/// The edges of all stacks: callers at a bci with their callees. The verdicts count distinct edges,
/// and add up to `distinct`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EdgeReport {
    /// The number of edges in all samples' stacks, repeated ones included.
    pub checked: u64,
    pub distinct: u64,
    pub proven: u64,
    /// The number of explained edges, by explanation.
    pub explained: BTreeMap<String, u64>,
    pub refuted: u64,
    /// The CPU time that the agent took for proof. Null for an audit of another profiler's
    /// recording.
    pub took_ms: Option<f64>,
}

/// The call instructions that name a method.
const CALLS: [&str; 4] = ["invokevirtual", "invokespecial", "invokestatic", "invokeinterface"];

/// Returns the text of the frame that marks the wrong call in a refuted stack. `expected` is the
/// instruction in the caller's bytecode.
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

/// A refuted call, frame or root of stacks, with the number of samples that have it. The bytecode
/// or a witness contradicts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefutationReport {
    /// The number by which the markers in the profile cite this refutation.
    pub number: usize,
    pub count: u64,
    #[serde(with = "by_name")]
    pub kind: Refutation,
    /// The method with the bytecode that contradicts the stack. It is empty if the end of the stack
    /// is wrong.
    pub caller: String,
    pub bci: i32,
    /// The caller's line, if the recording has line numbers instead of bcis. It is 0 if the
    /// recording has neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u16>,
    /// The instruction in the caller's bytecode at the stack's bci.
    pub expected: String,
    /// The callee that the stack claims. It is empty if the caller's bci alone is wrong.
    pub found: String,
    /// The first stack with this refutation, leaf first. A frame is a text like
    /// `com.foo.Bar.baz(Bar.java:12) @ 7`.
    pub stack: Vec<String>,
    /// The index of the caller in `stack`.
    pub at: Option<usize>,
    /// The caller's instructions around the bci, as text.
    pub code: Vec<String>,
    /// The stack of GetStackTrace that contradicts the sample, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessStack>,
}

impl RefutationReport {
    /// Returns the caller's line or bci as text, to be printed after the caller's name.
    pub fn position(&self) -> String {
        match self.line {
            None => format!(" at bci {}", self.bci),
            Some(0) => String::new(),
            Some(line) => format!(" in line {line}"),
        }
    }

    /// Adds the refutation to a recording, with methods written as in Java source. The recording
    /// chooses its number there.
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
    /// The grade of the witness, which says how much of this stack must equal the sample's.
    pub grade: String,
    /// The frames of the stack as text, leaf first.
    pub stack: Vec<String>,
}

/// The number of deliberate corruptions of one kind, and how many of them proof noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Power {
    pub tried: u64,
    pub noticed: u64,
}

/// The number of deliberate corruptions of witnessed stacks. The counts say how many were noticed
/// by proof, by the witness, or by either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessPower {
    pub tried: u64,
    pub by_proof: u64,
    pub by_witness: u64,
    pub by_either: u64,
}

impl Power {
    /// Returns the percentage of corruptions that were noticed, or `None` if there were none to
    /// notice.
    pub fn percent(self) -> Option<f64> {
        (self.tried > 0).then(|| 100.0 * float(self.noticed) / float(self.tried))
    }
}

/// Compares the time of the samples with the time that the kernel charged to the same threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Conservation {
    pub cpu_ms: f64,
    pub sampled_ms: f64,
    /// The sampled time divided by the charged time. Null if nothing was charged.
    pub ratio: Option<f64>,
}

impl Conservation {
    pub(crate) fn new(cpu_ms: f64, sampled_ms: f64) -> Self {
        Self { cpu_ms, sampled_ms, ratio: (cpu_ms > 0.0).then(|| (sampled_ms / cpu_ms * 1e4).round() / 1e4) }
    }
}

/// Serialises a kind of refutation by its name. Reading fails for an unknown name, which another
/// version of Vouch may have written.
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
