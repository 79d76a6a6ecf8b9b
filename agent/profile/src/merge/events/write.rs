//! Writes the events that were read to the profile, on its clock.
//!
//! Texts, functions and stacks that no marker needs must not be written: an omitted event may
//! contain secrets.

use std::collections::{BTreeMap, HashSet};
use std::mem::take;
use std::rc::Rc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value as Json, json};

use super::reading::{KnownKind, Reading};
use crate::error::Error;
use crate::merge::clock::Relation;
use crate::merge::kept::{EventOwner, Kept};
use crate::merge::merged::{Clock, KindSummary, Merged};
use crate::merge::profile::{Marker, Profile};
use crate::merge::show::{Cell, Shown};
use crate::merge::stacks::Categories;
use crate::merge::threads::Tracks;
use vouch_report::in_template;

/// The key of the field with an event's thread. Markers have it in a track of several threads.
const THREAD: &str = "vouchThread";
/// A marker's label has at most this many of its fields.
const LABELLED: usize = 3;
/// At most this many new tracks are visible at first: those with the most events.
const SEEN_TRACKS: usize = 20;

/// An event kind, with its events that become markers.
struct ShownKind {
    kind: KindSummary,
    known_kind: KnownKind,
    rows: Vec<Kept>,
}

impl Reading<'_> {
    pub(super) fn write(mut self, profile: &mut Profile) -> Result<Merged, Error> {
        let shown = self.shown_kinds();
        if shown.is_empty() && self.survey.chunks.values().all(|chunk| !chunk.merged.is_empty()) {
            return Err(Error::Merged(self.choice.recording.clone()));
        }
        let ends = |row: &Kept| [row.at, row.at + row.took.unwrap_or(0.0)];
        let span = shown.iter().flat_map(|shown| &shown.rows).map(ends);
        let span = span.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])]);
        let day = self.survey.by_day.first().copied();
        let clock = clock(&self.relation, self.moments, span.unwrap_or_default(), day);
        let mut schemas = Vec::new();
        let mut kinds = self.mark(shown, &mut schemas, profile)?;
        kinds.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
        let merged = Merged {
            recording: self.choice.recording.clone(),
            chunks: self.survey.chunks.iter().map(|(unix_ns, chunk)| (*unix_ns, chunk.bytes)).collect(),
            left_out: if self.choice.events.is_empty() { self.survey.left_out() } else { Vec::new() },
            stranger: self.stranger,
            kinds,
            outside: self.outside,
            unreadable: self.unreadable,
            clock,
            damage: self.damage,
        };
        add_to_meta(profile, schemas, &merged)?;
        Ok(merged)
    }

    /// Returns the kinds that have events to show, with these events.
    fn shown_kinds(&mut self) -> Vec<ShownKind> {
        let shown = |(name, mut known_kind): (String, KnownKind)| {
            let (label, count) = (known_kind.label.clone(), known_kind.keep.seen);
            let rows = take(&mut known_kind.keep).into_rows();
            let kind = KindSummary { name, label, count, shown: rows.len() as u64 };
            (kind.shown > 0).then_some(ShownKind { kind, known_kind, rows })
        };
        take(&mut self.kinds).into_iter().filter_map(shown).collect()
    }

    /// Adds the events as markers to the tracks of their threads.
    fn mark(
        &self,
        all: Vec<ShownKind>,
        schemas: &mut Vec<Json>,
        profile: &mut Profile,
    ) -> Result<Vec<KindSummary>, Error> {
        let relation = &self.relation;
        let categories = Categories::new(profile)?;
        let stacks = all.iter().flat_map(|shown| &shown.rows).filter_map(|row| row.stack);
        let stacks = self.stacks.write(stacks, profile, &categories)?;
        let old_tracks = profile.threads.len();
        let mut tracks = Tracks::new(profile, self.stranger.clone())?;
        let mut markers: BTreeMap<usize, Vec<Marker>> = BTreeMap::new();
        let mut kinds = Vec::new();
        for ShownKind { kind, mut known_kind, rows } in all {
            let r#type = format!("jfr.{}", kind.name);
            let name = profile.string(&known_kind.label);
            let category = categories.of_event(&kind.name, &known_kind.category);
            let mut has_threads = false;
            for row in with_long_numbers_as_texts(rows, &mut known_kind) {
                let start_ms = millis(relation.profile_ns(row.at));
                let end_ms = row.took.map(|took| millis(relation.profile_ns(row.at + took)));
                let mut data: Map<String, Json> = Map::new();
                let track = match row.owner {
                    EventOwner::Thread(thread) => {
                        let thread = &self.threads.list[thread];
                        let found = tracks.find(profile, thread, start_ms)?;
                        if found.shared {
                            has_threads = true;
                            data.insert(THREAD.to_owned(), profile.string(&thread.name).into());
                        }
                        found.row
                    }
                    EventOwner::UnknownThread => tracks.of_somebody(profile)?,
                    EventOwner::Process => tracks.of_all(profile)?,
                };
                for (key, cell) in row.data {
                    data.insert(key.to_string(), cell.into_json(profile));
                }
                data.insert("type".to_owned(), r#type.as_str().into());
                if let Some(stack) = row.stack {
                    data.insert("cause".to_owned(), json!({ "time": start_ms, "stack": stacks[&stack] }));
                }
                let data = to_raw_value(&data)?;
                markers.entry(track).or_default().push(Marker { name, start_ms, end_ms, category, data });
            }
            schemas.push(schema(&r#type, &kind, &known_kind, has_threads));
            kinds.push(kind);
        }
        let new = markers.range(old_tracks..).map(|(track, markers)| (markers.len(), *track));
        let mut new: Vec<_> = new.collect();
        new.sort_unstable_by(|one, other| other.cmp(one));
        profile.show(new.into_iter().take(SEEN_TRACKS).map(|(_, track)| track))?;
        for (track, markers) in markers {
            profile.add_markers(track, markers)?;
        }
        Ok(kinds)
    }
}

/// Converts nanoseconds to milliseconds, rounded to whole microseconds like all times of the
/// profile.
fn millis(ns: f64) -> f64 {
    (ns / 1e3).round() / 1e3
}

fn clock(
    relation: &Relation,
    [pauses, waits]: [usize; 2],
    span: [f64; 2],
    by_day: Option<(f64, f64)>,
) -> Clock {
    let offset = by_day.map_or(0.0, |(at, add)| at + add - relation.profile_ns(at));
    Clock {
        pauses,
        waits,
        uncertainty_ns: relation.uncertainty_ns(span[0], span[1]).round(),
        drift_ns_a_minute: relation.drift_ns_a_minute().round(),
        offset_ns: offset.round(),
    }
}

/// Converts all numbers of a field to texts, if one of them is too long for the front-end.
fn with_long_numbers_as_texts(mut rows: Vec<Kept>, known_kind: &mut KnownKind) -> Vec<Kept> {
    for field in known_kind.fields.iter_mut().filter(|field| field.may_be_long()) {
        let is_long = |(key, cell): &(Rc<str>, Cell)| *key == field.key && cell.is_long();
        if !rows.iter().any(|row| row.data.iter().any(is_long)) {
            continue;
        }
        let old = field.key.clone();
        *field = field.as_text();
        // Markers of an earlier recording have numbers under that key, so another key is needed.
        while known_kind.merged.contains(&*field.key) {
            field.key = format!("{}_", field.key).into();
        }
        for (key, cell) in rows.iter_mut().flat_map(|row| &mut row.data).filter(|(key, _)| *key == old) {
            (*key, *cell) = (field.key.clone(), cell.clone().into_text());
        }
    }
    rows
}

/// Returns the marker schema of a kind.
fn schema(r#type: &str, kind: &KindSummary, known_kind: &KnownKind, has_threads: bool) -> Json {
    let mut labelled: Vec<String> = known_kind.fields.iter().take(LABELLED).map(Shown::labelled).collect();
    let mut fields: Vec<Json> = known_kind.fields.iter().map(Shown::schema).collect();
    if has_threads {
        labelled.insert(0, format!("{{marker.data.{THREAD}}}"));
        fields.insert(0, json!({ "key": THREAD, "label": "Thread", "format": "unique-string" }));
    }
    let label = if labelled.is_empty() { in_template(&kind.label) } else { labelled.join(", ") };
    json!({
        "name": r#type,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "tableLabel": label,
        "chartLabel": label,
        "tooltipLabel": format!("{} ({}, by JFR)", in_template(&kind.label), in_template(&kind.name)),
        "description": known_kind.description,
        "fields": fields,
    })
}

/// Adds the schemas of markers, and the result of the merge, to the profile's `meta`.
fn add_to_meta(profile: &mut Profile, schemas: Vec<Json>, merged: &Merged) -> Result<(), Error> {
    let meta = &mut profile.meta;
    let mut all: Vec<Json> = meta.find("vouchMerged")?.unwrap_or_default();
    all.push(serde_json::to_value(merged)?);
    meta.set("vouchMerged", &all)?;
    let mut known: Vec<Json> = meta.get("markerSchema")?;
    for mut schema in schemas {
        // Markers of a recording that was added before may have other fields.
        if let Some(row) = known.iter().position(|known| known["name"] == schema["name"]) {
            let old = known.remove(row);
            let mut fields: Vec<Json> = schema["fields"].as_array().cloned().unwrap_or_default();
            let new: HashSet<Json> = fields.iter().map(|field| field["key"].clone()).collect();
            let old = old["fields"].as_array().into_iter().flatten();
            fields.extend(old.filter(|field| !new.contains(&field["key"])).cloned());
            schema["fields"] = fields.into();
        }
        known.push(schema);
    }
    meta.set("markerSchema", &known)?;
    let mut panel: Vec<Json> = meta.find("extra")?.unwrap_or_default();
    if let Some(entries) = panel.first_mut().and_then(|section| section["entries"].as_array_mut()) {
        entries.push(json!({ "label": "Flight Recorder", "format": "string", "value": merged.line() }));
    }
    meta.set("extra", &panel)
}
