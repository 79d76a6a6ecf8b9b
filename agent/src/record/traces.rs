//! The traces that samples were taken in, each a context of the recording's: its id and that of its
//! span, as tracing tools write them.
//!
//! Each request of a server may be one of its own, so nothing is kept of a trace before a sample
//! meets it, and there is a limit to how many are told apart. What comes later must never be taken
//! for one of these.

use std::collections::HashMap;

use vouch_recording::{ContextId, OTHERS, Recording, TRACE};
use vouch_signal::thread_context::Trace;

use super::own_kind::OwnKind;

/// So many of them are told apart, each in the virtual thread that it was met in.
const MOST: usize = 1 << 16;

/// Those that samples have met.
#[derive(Debug)]
pub struct Traces {
    kind: OwnKind,
    /// By what is around them.
    known: HashMap<(Option<ContextId>, Trace), ContextId>,
    /// What all beyond the limit are in, by what is around them.
    others: HashMap<Option<ContextId>, ContextId>,
}

impl Default for Traces {
    fn default() -> Self {
        let kind = OwnKind::new(TRACE, "Trace", ["trace_id", "span_id"]);
        Self { kind, known: HashMap::new(), others: HashMap::new() }
    }
}

impl Traces {
    /// The context of a sample in this trace, inside of what is around it.
    pub fn of(
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
        if self.known.len() >= MOST {
            return Some(self.others(around, recording));
        }
        let (id, span) = (format!("{high:016x}{low:016x}"), format!("{span:016x}"));
        let row = self.kind.tell(around, [&id, &span], recording);
        self.known.insert((around, trace), row);
        Some(row)
    }

    /// True if a context is a trace.
    pub fn is_one(&self, context: ContextId, recording: &Recording) -> bool {
        self.kind.has(context, recording)
    }

    /// What all beyond the limit are in.
    pub fn others(&mut self, around: Option<ContextId>, recording: &mut Recording) -> ContextId {
        if let Some(others) = self.others.get(&around) {
            return *others;
        }
        let others = self.kind.tell(around, [OTHERS; 2], recording);
        self.others.insert(around, others);
        others
    }
}
