//! What there is to say of a run as a whole, as it stands in a recording: JSON, in the words of the
//! trust report.

use serde::{Deserialize, Serialize};
use vouch_formats::Meta;
use vouch_report::{Delivered, Run};

/// The run, as its process saw it last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    pub meta: Meta,
    pub run: Run,
    /// What the report has in another place.
    pub delivered: Delivered,
    pub contexts_left_out: u64,
    /// The recording ended as it was to end, and nothing comes behind this.
    pub is_last: bool,
}

impl State {
    pub fn new(meta: Meta, run: Run, is_last: bool) -> Self {
        Self { delivered: run.delivered, contexts_left_out: run.contexts_left_out, meta, run, is_last }
    }

    /// As it was when it was written.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mut state: Self = serde_json::from_str(text).ok()?;
        state.run.delivered = state.delivered;
        state.run.contexts_left_out = state.contexts_left_out;
        Some(state)
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
