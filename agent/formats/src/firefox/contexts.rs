//! Contexts in the timeline: a marker from the first to the last sample of a thread in a row that
//! was taken in one, without its having rested in between.
//!
//! The front-end can keep the samples inside of markers that match a search, and no others: so a
//! marker must hold all of its own samples' times, and nobody else's on its track. Which context
//! each sample has also stands beside it, exactly, in a column of our own, which the front-end
//! passes over.

use std::mem::replace;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use vouch_recording::{ContextId, ContextKind, ContextRow, Contexts, Id, Recording, StringId, Thread};

use super::time::{began_ns, ended_ns};
use crate::json::{Column, Row};

/// A context on a track, from a time to a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub context: ContextId,
    pub began_ns: u64,
    pub ended_ns: u64,
}

/// Those of a thread. A sample stands for its intervals before it, as far as the sample before
/// leaves them.
pub fn spans(contexts: &Contexts, thread: &Thread, interval_ns: u64) -> Vec<Span> {
    if contexts.rows().is_empty() {
        return Vec::new();
    }
    let mut samples: Vec<_> = thread.samples_in_contexts().collect();
    samples.sort_by_key(|(sample, _)| sample.time_ns);
    let (mut ended, mut open) = (Vec::new(), Vec::<Span>::new());
    let (mut free_ns, mut rested_from) = (0, (0, 0));
    for (sample, context) in samples {
        // As long as it was idle nobody knows what it was in.
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

/// What a marker of this kind is called by in the file; the front-end must not take it for one of
/// its own.
pub fn marker_type(row: usize) -> String {
    format!("context-{}", row + 1)
}

/// What a field is called by there: some names are the front-end's own.
pub fn field_key(row: usize) -> String {
    format!("field{}", row + 1)
}

/// A marker's fields.
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

/// The table that the samples' column has its numbers of, for `vouch top`.
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
