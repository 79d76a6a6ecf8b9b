//! The report's part about the calls between native frames, which machine code proves or refutes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::proof::MAX_LISTED;

/// How the calls between native frames hold. The verdicts count the calls in all samples' stacks,
/// and add up to `checked`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NativeCallReport {
    /// The number of calls in all samples' stacks, repeated ones included.
    pub checked: u64,
    /// The number of different calls: return addresses with the function that was called. One that
    /// is seen again after libraries have changed counts again.
    pub distinct: u64,
    pub proven: u64,
    /// The number of calls that nothing contradicts, by the reason why they are not proven.
    pub plausible: BTreeMap<String, u64>,
    pub refuted: u64,
    /// The number of calls in code that could not be read.
    pub unjudged: u64,
    /// The CPU time that the agent took for these checks.
    pub took_ms: f64,
    /// The refuted calls, the most frequent first.
    pub refutations: Vec<RefutedNativeCall>,
}

/// A refuted call between native frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefutedNativeCall {
    /// The number of samples with this call.
    pub count: u64,
    /// `no_call` if no call instruction is before the return address, or `other_function` if the
    /// call is of another function.
    pub kind: String,
    /// The function to which the call returns.
    pub caller: String,
    /// The return address, as an offset in its library.
    pub return_address: String,
    /// The instruction before the return address, or the bytes there if none ends there.
    pub instruction: String,
    /// The function that the instruction calls. It is empty if there is no call.
    pub calls: String,
    /// The function that the stack has as the callee.
    pub callee: String,
}

impl RefutedNativeCall {
    fn key(&self) -> [&str; 4] {
        [&self.caller, &self.return_address, &self.callee, &self.kind]
    }
}

impl NativeCallReport {
    /// Makes one row of rows for the same refuted call, puts the most frequent first, and removes
    /// those that the report does not list.
    pub fn sort_refutations(&mut self) {
        self.refutations.sort_by(|one, other| one.key().cmp(&other.key()));
        self.refutations.dedup_by(|next, kept| {
            let is_same = next.key() == kept.key();
            if is_same {
                kept.count += next.count;
            }
            is_same
        });
        // The order of equal counts stays that of the keys.
        self.refutations.sort_by_key(|it| Reverse(it.count));
        self.refutations.truncate(MAX_LISTED);
    }
}
