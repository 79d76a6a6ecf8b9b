//! Adds a context for each trace that samples were taken in. It contains the ids of the trace and
//! its span, as tracing tools write them.
//!
//! A server may have a trace for each request. A trace is therefore stored only when a sample has
//! it, and their number is limited. Traces beyond the limit must never be merged with stored ones.

use std::collections::HashMap;

use vouch_recording::{ContextId, OTHERS, Recording, TRACE};
use vouch_signal::thread_context::Trace;

use super::own_kind::OwnKind;

/// The maximum number of contexts of traces. A trace has one for each virtual thread that it was
/// sampled on.
const MAX_CONTEXTS: usize = 1 << 16;

/// The contexts of the traces that samples were taken in.
#[derive(Debug)]
pub struct Traces {
    kind: OwnKind,
    /// The contexts of traces, by the context around them and the trace's ids.
    known: HashMap<(Option<ContextId>, Trace), ContextId>,
    /// The contexts that all traces beyond the limit share, by enclosing context.
    others: HashMap<Option<ContextId>, ContextId>,
}

impl Default for Traces {
    fn default() -> Self {
        let kind = OwnKind::new(TRACE, "Trace", ["trace_id", "span_id"]);
        Self { kind, known: HashMap::new(), others: HashMap::new() }
    }
}

impl Traces {
    /// Returns the context of a sample in this trace, within the context `around`. A trace id of
    /// zero means that there is no trace.
    pub fn context(
        &mut self,
        around: Option<ContextId>,
        trace: Trace,
        recording: &mut Recording,
    ) -> Option<ContextId> {
        let [high, low, span] = trace;
        if high == 0 && low == 0 {
            return around;
        }
        if let Some(known) = self.known.get(&(around, trace)) {
            return Some(*known);
        }
        if self.known.len() >= MAX_CONTEXTS {
            return Some(self.shared_beyond_limit(around, recording));
        }
        let (id, span) = (format!("{high:016x}{low:016x}"), format!("{span:016x}"));
        let row = self.kind.add(around, [&id, &span], recording);
        self.known.insert((around, trace), row);
        Some(row)
    }

    /// Returns true if a context is a trace.
    pub fn is_one(&self, context: ContextId, recording: &Recording) -> bool {
        self.kind.has(context, recording)
    }

    /// Returns the context that all traces beyond the limit share within `around`.
    pub fn shared_beyond_limit(&mut self, around: Option<ContextId>, recording: &mut Recording) -> ContextId {
        if let Some(others) = self.others.get(&around) {
            return *others;
        }
        let others = self.kind.add(around, [OTHERS; 2], recording);
        self.others.insert(around, others);
        others
    }
}
