//! What the trust report says of proof: edges, refutations, the power of the check, and whether
//! time was conserved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vouch_recording::{Recording, RefutationId};
use vouch_verify::proof::Refutation;

use crate::text::readable;
use crate::time::float;

/// The edges of all stacks. The verdicts are on distinct ones, and add up to them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EdgeReport {
    /// How often an edge stood in a sample's stack.
    pub checked: u64,
    pub distinct: u64,
    pub proven: u64,
    /// By explanation.
    pub explained: BTreeMap<String, u64>,
    pub refuted: u64,
    /// What proof took of the agent's CPU time; null where there was no agent.
    pub took_ms: Option<f64>,
}

/// The instructions that name a method.
const CALLS: [&str; 4] = ["invokevirtual", "invokespecial", "invokestatic", "invokeinterface"];

/// What there is to read in a refuted stack at the place where it breaks; `expected` is what stands
/// there in the bytecode.
pub fn sign(kind: Refutation, expected: &str) -> String {
    let words = kind.words();
    match expected.split_once(' ').filter(|(code, _)| CALLS.contains(code)) {
        Some((_, callee)) if kind == Refutation::OtherCallee => {
            format!("[✗ {words}: the bytecode calls {}]", readable(callee))
        }
        _ => format!("[✗ {words}]"),
    }
}

/// How many refutations the report lists at most.
pub const LISTED: usize = 50;

/// A refutation with its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefutationReport {
    /// The number by which the profile's markers cite it.
    pub number: usize,
    pub count: u64,
    #[serde(with = "by_name")]
    pub kind: Refutation,
    /// The method whose bytecode says otherwise; empty where a stack's end is meant.
    pub caller: String,
    pub bci: i32,
    /// Where the bci is not the walk's own, which said the line alone; 0: not even that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u16>,
    /// What its bytecode calls.
    pub expected: String,
    /// The method that the walk claimed was called; empty where it claimed no more than the place.
    pub found: String,
    /// The first such stack, leaf first, a frame each: `com.foo.Bar.baz(Bar.java:12) @ 7`.
    pub stack: Vec<String>,
    /// Where in it the refuted frame's caller stands.
    pub at: Option<usize>,
    /// The caller's instructions around the bci.
    pub code: Vec<String>,
    /// Where the JVM itself contradicts the stack: what GetStackTrace said at the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Account>,
}

impl RefutationReport {
    /// Where the walk said that the caller stood, behind the caller's name.
    pub fn place(&self) -> String {
        match self.line {
            None => format!(" at bci {}", self.bci),
            Some(0) => String::new(),
            Some(line) => format!(" in line {line}"),
        }
    }

    /// Adds it to a recording's refutations, in words that a person reads. The number is that of
    /// the recording.
    pub fn add_to(&self, recording: &mut Recording) -> RefutationId {
        let [caller, expected, found] =
            [&self.caller, &self.expected, &self.found].map(|text| readable(text));
        recording.refutation(vouch_recording::Refutation {
            kind: self.kind.name(),
            words: self.kind.words(),
            caller: &caller,
            bci: self.bci,
            expected: &expected,
            found: &found,
        })
    }
}

/// GetStackTrace's account of a stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// How much of it is of the walk's moment.
    pub grade: String,
    /// Leaf first, a frame each.
    pub stack: Vec<String>,
}

/// How often a corruption was made, and how often proof noticed it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Power {
    pub tried: u64,
    pub noticed: u64,
}

/// The same for stacks that were witnessed: by whom it was noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessPower {
    pub tried: u64,
    pub by_proof: u64,
    pub by_witness: u64,
    pub by_either: u64,
}

impl Power {
    /// In percent; `None` if nothing could be tried.
    pub fn percent(self) -> Option<f64> {
        (self.tried > 0).then(|| 100.0 * float(self.noticed) / float(self.tried))
    }
}

/// The time of the samples against the time that the kernel charged the same threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Conservation {
    pub cpu_ms: f64,
    pub sampled_ms: f64,
    /// Sampled of charged; null if nothing was charged.
    pub ratio: Option<f64>,
}

impl Conservation {
    pub(crate) fn of(cpu_ms: f64, sampled_ms: f64) -> Self {
        Self { cpu_ms, sampled_ms, ratio: (cpu_ms > 0.0).then(|| (sampled_ms / cpu_ms * 1e4).round() / 1e4) }
    }
}

/// A kind of refutation is written by its name. One that is not known is of another version, and is
/// told.
mod by_name {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use vouch_verify::proof::Refutation;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
    pub fn serialize<S: Serializer>(kind: &Refutation, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Refutation, D::Error> {
        let name = String::deserialize(deserializer)?;
        Refutation::of(&name).ok_or_else(|| D::Error::custom(format!("there is no kind {name:?}")))
    }
}
