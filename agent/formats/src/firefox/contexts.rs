//! Writes contexts to the timeline. A marker covers consecutive samples of a thread in the same
//! context, without idle time between them.
//!
//! The front-end can drop all samples that are not inside markers that match a search. So a marker
//! must cover the times of all of its samples, and of no other sample on its track. The context of
//! each sample is also in a separate column, which the front-end ignores.

use std::mem::replace;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use vouch_recording::{ContextId, ContextKind, ContextRow, Contexts, Id, Recording, StringId, Thread};

use super::time::{began_ns, ended_ns};
use crate::json::{Column, Row};

/// The time for which a thread on a track was in one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub context: ContextId,
    pub began_ns: u64,
    pub ended_ns: u64,
}

/// Returns the spans of a thread's contexts. A sample covers the sampling intervals before it, but
/// not the time of the previous sample.
pub fn spans(contexts: &Contexts, thread: &Thread, interval_ns: u64) -> Vec<Span> {
    if contexts.rows().is_empty() {
        return Vec::new();
    }
    let mut samples: Vec<_> = thread.samples_in_contexts().collect();
    samples.sort_by_key(|(sample, _)| sample.time_ns);
    let (mut ended, mut open) = (Vec::new(), Vec::<Span>::new());
    let (mut free_ns, mut rested_from) = (0, (0, 0));
    for (sample, context) in samples {
        // The context of an idle thread is unknown, so its spans end.
        let furthest_ns = sample.cpu_ns.max(rested_from.1);
        let (time_ns, cpu_ns) = replace(&mut rested_from, (sample.time_ns, furthest_ns));
        let ran_ns = sample.cpu_ns.saturating_sub(cpu_ns);
        if sample.time_ns.saturating_sub(ran_ns) > time_ns.saturating_add(interval_ns.saturating_mul(2)) {
            ended.append(&mut open);
        }
        let mut around: Vec<ContextId> = contexts.outwards(context).collect();
        around.reverse();
        let stay = open.iter().zip(&around).take_while(|(span, context)| span.context == **context).count();
        ended.extend(open.drain(stay..));
        let began_ns = began_ns(sample.time_ns, sample.weight, interval_ns, free_ns);
        open.extend(around[stay..].iter().map(|&context| Span { context, began_ns, ended_ns: 0 }));
        free_ns = ended_ns(sample.time_ns);
        for span in &mut open {
            span.ended_ns = free_ns;
        }
    }
    ended.append(&mut open);
    ended
}

/// Returns the type of the markers for one kind of contexts. The front-end itself must not use the
/// same name.
pub fn marker_type(row: usize) -> String {
    format!("context-{}", row + 1)
}

/// Returns the key of a field in the file. The field's own name could be one that the front-end
/// uses.
pub fn field_key(row: usize) -> String {
    format!("field{}", row + 1)
}

/// The fields of a context's marker, which are written as JSON.
pub struct SpanData<'a>(pub &'a ContextRow);

impl Serialize for SpanData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &marker_type(self.0.kind.row()))?;
        for (at, value) in self.0.values.iter().enumerate() {
            map.serialize_entry(&field_key(at), &Row(*value))?;
        }
        map.end()
    }
}

/// The table of contexts, for `vouch top`. The samples' column of contexts contains rows of this
/// table.
pub struct ContextTable<'a>(pub &'a Recording);

impl Serialize for ContextTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contexts = self.0.contexts();
        let rows = || contexts.rows().iter();
        let mut table = serializer.serialize_struct("contexts", 5)?;
        table.serialize_field("kinds", &Column(|| contexts.kinds().iter().map(KindColumns)))?;
        table.serialize_field("length", &rows().len())?;
        table.serialize_field("outer", &Column(|| rows().map(|row| row.outer.map(Row))))?;
        table.serialize_field("kind", &Column(|| rows().map(|row| Row(row.kind))))?;
        let values = |values: &'_ [StringId]| values.iter().map(|value| value.row()).collect::<Vec<_>>();
        table.serialize_field("values", &Column(|| rows().map(|row| values(&row.values))))?;
        table.end()
    }
}

struct KindColumns<'a>(&'a ContextKind);

impl Serialize for KindColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(ContextKind { class, label, fields }) = self;
        let mut kind = serializer.serialize_struct("kind", 4)?;
        kind.serialize_field("class", &Row(*class))?;
        kind.serialize_field("label", &Row(*label))?;
        kind.serialize_field("fields", &Column(|| fields.iter().map(|field| Row(field.key))))?;
        kind.serialize_field("fieldLabels", &Column(|| fields.iter().map(|field| Row(field.label))))?;
        kind.end()
    }
}
