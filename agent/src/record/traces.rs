//! The traces that samples were taken in, each a context of the recording's: its id and that of its span, as tracing tools write them.
//!
//! Each request of a server may be one of its own, so nothing is kept of a trace before a sample meets it, and there is a limit to how many are told
//! apart. What comes later must never be taken for one of these.

use std::collections::HashMap;

use vouch_recording::{
    ContextField, ContextId, ContextKind, ContextKindId, ContextRow, OTHERS, Recording, TRACE,
};
use vouch_signal::purpose::Trace;

/// So many of them are told apart, each in the virtual thread that it was met in.
const MOST: usize = 1 << 16;

/// Those that samples have met.
#[derive(Debug, Default)]
pub struct Traces {
    kind: Option<ContextKindId>,
    /// By what is around them.
    known: HashMap<(Option<ContextId>, Trace), ContextId>,
    /// What all beyond the limit are in, by what is around them.
    others: HashMap<Option<ContextId>, ContextId>,
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
        let row = self.tell(around, [&id, &span], recording);
        self.known.insert((around, trace), row);
        Some(row)
    }

    /// True if a context is a trace.
    pub fn is_one(&self, context: ContextId, recording: &Recording) -> bool {
        Some(recording.contexts().get(context).kind) == self.kind
    }

    /// What all beyond the limit are in.
    pub fn others(&mut self, around: Option<ContextId>, recording: &mut Recording) -> ContextId {
        if let Some(others) = self.others.get(&around) {
            return *others;
        }
        let others = self.tell(around, [OTHERS; 2], recording);
        self.others.insert(around, others);
        others
    }

    fn tell(&mut self, outer: Option<ContextId>, values: [&str; 2], recording: &mut Recording) -> ContextId {
        let kind = *self.kind.get_or_insert_with(|| {
            let fields = ["trace_id", "span_id"].map(|key| {
                let key = recording.string(key);
                ContextField { key, label: key }
            });
            let (class, label) = (recording.string(TRACE), recording.string("Trace"));
            recording.context_kind(ContextKind { class, label, fields: fields.to_vec() })
        });
        let values = values.map(|value| recording.string(value)).to_vec();
        recording.context(ContextRow { outer, kind, values })
    }
}
