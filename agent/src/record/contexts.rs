//! The contexts of this recording's samples: what the program's numbers stand for, told to the recording once each.

use std::collections::HashMap;

use vouch_recording::{ContextField, ContextId, ContextKind, ContextKindId, ContextRow, Recording};

use crate::contexts::{Contexts, Kind};

/// Those that samples have met.
#[derive(Debug)]
pub struct Met {
    contexts: &'static Contexts,
    known: HashMap<u32, Option<ContextId>>,
    /// By their numbers.
    kinds: HashMap<u32, ContextKindId>,
}

impl Met {
    pub fn new(contexts: &'static Contexts) -> Self {
        Self { contexts, known: HashMap::new(), kinds: HashMap::new() }
    }

    /// The context that a sample's number stands for; `None` for none, and for a number that nobody gave.
    pub fn of(&mut self, number: u32, recording: &mut Recording) -> Option<ContextId> {
        if number == 0 {
            return None;
        }
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        let met = self.contexts.get(number).map(|(context, kind)| {
            // It was there before.
            let outer = self.of(context.outer, recording);
            let kinds = &mut self.kinds;
            let kind = *kinds.entry(context.kind).or_insert_with(|| tell(&kind, recording));
            let values = context.values.iter().map(|value| recording.string(value)).collect();
            recording.context(ContextRow { outer, kind, values })
        });
        self.known.insert(number, met);
        met
    }
}

fn tell(kind: &Kind, recording: &mut Recording) -> ContextKindId {
    let fields = kind
        .fields
        .iter()
        .map(|(key, label)| ContextField { key: recording.string(key), label: recording.string(label) })
        .collect();
    let (class, label) = (recording.string(&kind.class), recording.string(&kind.label));
    recording.context_kind(ContextKind { class, label, fields })
}
