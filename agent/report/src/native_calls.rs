//! The report's part about the calls between native frames, which machine code proves or refutes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::proof::MAX_LISTED;

/// How the calls between native frames hold. The verdicts count the calls in all samples' stacks,
/// and add up to `checked`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NativeCallReport {
    /// The number of calls in all samples' stacks, repeated ones included.
    pub checked: u64,
    /// The number of different calls: return addresses with the function that was called.
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

impl NativeCallReport {
    /// Puts the most frequent refuted calls first, and removes those that the report does not list.
    pub fn sort_refutations(&mut self) {
        self.refutations.sort_by(|one, other| {
            let key =
                |it: &RefutedNativeCall| (it.caller.clone(), it.return_address.clone(), it.callee.clone());
            other.count.cmp(&one.count).then_with(|| key(one).cmp(&key(other)))
        });
        self.refutations.truncate(MAX_LISTED);
    }
}
