//! Adds a kind of contexts that no class of the program declares. It has two fields, and its values
//! come from the samples.

use vouch_recording::{ContextField, ContextId, ContextKind, ContextKindId, ContextRow, Recording};

#[derive(Debug)]
pub struct OwnKind {
    class: &'static str,
    label: &'static str,
    fields: [&'static str; 2],
    /// The id of the kind of contexts. It is `None` until the first context, so that a recording
    /// without such contexts lacks the kind.
    id: Option<ContextKindId>,
}

impl OwnKind {
    pub const fn new(class: &'static str, label: &'static str, fields: [&'static str; 2]) -> Self {
        Self { class, label, fields, id: None }
    }

    /// Returns true if a context is of this kind.
    pub fn has(&self, context: ContextId, recording: &Recording) -> bool {
        Some(recording.contexts().get(context).kind) == self.id
    }

    /// Adds a context of this kind, within another context or at the top.
    pub fn add(
        &mut self,
        outer: Option<ContextId>,
        values: [&str; 2],
        recording: &mut Recording,
    ) -> ContextId {
        let kind = *self.id.get_or_insert_with(|| {
            let fields = self.fields.map(|key| {
                let key = recording.string(key);
                ContextField { key, label: key }
            });
            let (class, label) = (recording.string(self.class), recording.string(self.label));
            recording.context_kind(ContextKind { class, label, fields: fields.to_vec() })
        });
        let values = values.map(|value| recording.string(value)).to_vec();
        recording.context(ContextRow { outer, kind, values })
    }
}
