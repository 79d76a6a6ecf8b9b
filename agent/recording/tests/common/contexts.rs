//! Contexts for the tests of all crates that read a recording. These functions must not assert.
#![allow(dead_code, reason = "each test file takes what it needs")]

use vouch_recording::{ContextField, ContextId, ContextKind, ContextKindId, ContextRow, Recording};

/// Adds a kind of contexts with these fields. The label of each field is its key in capitals.
pub fn kind(recording: &mut Recording, label: &str, keys: &[&str]) -> ContextKindId {
    let class = recording.string(&format!("shop.{label}"));
    let label = recording.string(label);
    let field = |key: &&str| ContextField {
        key: recording.string(key),
        label: recording.string(&key.to_uppercase()),
    };
    let fields = keys.iter().map(field).collect();
    recording.context_kind(ContextKind { class, label, fields })
}

pub fn context(
    recording: &mut Recording,
    outer: Option<ContextId>,
    kind: ContextKindId,
    values: &[&str],
) -> ContextId {
    let values = values.iter().map(|value| recording.string(value)).collect();
    recording.context(ContextRow { outer, kind, values })
}
