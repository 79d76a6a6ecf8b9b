//! Stores the state of a run in a recording, as JSON with the keys of the trust report.

use serde::{Deserialize, Serialize};
use vouch_formats::Meta;
use vouch_report::{Delivered, Run};

/// Describes the run as its process last observed it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    pub meta: Meta,
    pub run: Run,
    /// Counts of the signals that were delivered. The field is separate because the JSON of the
    /// report has it elsewhere.
    pub delivered: Delivered,
    pub contexts_left_out: u64,
    /// True if the recording ended normally, and no block follows this state.
    pub is_last: bool,
}

impl State {
    pub fn new(meta: Meta, run: Run, is_last: bool) -> Self {
        Self { delivered: run.delivered, contexts_left_out: run.contexts_left_out, meta, run, is_last }
    }

    /// Parses a state from the JSON text that `text` wrote. Returns `None` if the JSON is not a
    /// state.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let mut state: Self = serde_json::from_str(text).ok()?;
        state.run.delivered = state.delivered;
        state.run.contexts_left_out = state.contexts_left_out;
        Some(state)
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
