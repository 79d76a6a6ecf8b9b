//! What was read of a recording, put into the profile by one clock.
//!
//! A text, a function or a stack that no marker of the profile's needs must not get into it: what is left out may be what nobody is to see.

use std::collections::{BTreeMap, HashSet};
use std::mem::take;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value as Json, json};

use super::{Anchors, Met, Reading, anchors};
use crate::anchors::{Moment, Moments, relate};
use crate::clock::Relation;
use crate::kept::{Kept, Whose};
use crate::profile::{Marker, Profile, Wrong};
use crate::show::Shown;
use crate::stacks::Categories;
use crate::threads::Tracks;
use crate::{Clock, Kind, Merged, Part};

/// So many fields of a marker stand in its label.
const LABELLED: usize = 3;
/// So many new tracks are seen at once: those with the most events.
const SEEN_TRACKS: usize = 20;

/// A kind with the events that are shown.
struct Told {
    kind: Kind,
    met: Met,
    rows: Vec<Kept>,
}

impl Reading<'_> {
    pub(super) fn write(mut self, profile: &mut Profile) -> Result<Merged, Wrong> {
        if self.chunks.is_empty() {
            return Err(format!("{} is in the profile already", self.choice.recording));
        }
        let pids: Vec<String> = self.pids.iter().map(ToString::to_string).collect();
        if pids.len() > 1 {
            return Err(self.more_than_one_run());
        }
        let stranger = pids.into_iter().next().filter(|pid| *pid != self.own_pid);
        let (relation, counts) = self.relate(profile, stranger.is_some())?;
        let mut left_out = Vec::new();
        if self.choice.events.is_empty() {
            let states = take(&mut self.states);
            left_out.extend(states.into_iter().filter(|name| self.kinds.remove(name).is_some()));
        }
        let told = self.told(&relation);
        let ends = |row: &Kept| [row.at, row.at + row.took.unwrap_or(0.0)];
        let span = told.iter().flat_map(|told| &told.rows).map(ends);
        let span = span.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])]);
        let clock = clock(&relation, counts, span.unwrap_or_default(), self.by_day.first().copied());
        let mut schemas = Vec::new();
        let mut kinds = self.mark(told, &relation, stranger.clone(), &mut schemas, profile)?;
        kinds.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
        let merged = Merged {
            recording: self.choice.recording.clone(),
            chunks_unix_ns: self.chunks,
            stranger,
            kinds,
            outside: self.outside,
            unreadable: self.unreadable,
            left_out,
            clock,
            damage: self.damage,
        };
        tell(profile, schemas, &merged)?;
        Ok(merged)
    }

    fn relate(&mut self, profile: &Profile, is_strange: bool) -> Result<(Relation, [usize; 2]), Wrong> {
        let mut pauses = Moments { recorded: take(&mut self.pauses), ..Moments::default() };
        let mut waits = Moments { recorded: take(&mut self.waits), ..Moments::default() };
        if !is_strange {
            pauses.seen = seen_pauses(profile)?;
            waits.seen = anchors(profile)?.map_or_else(Vec::new, Anchors::moments);
        }
        let range_ns = self.range_ms.map(|ms| ms * 1e6);
        relate(&self.by_day, pauses, waits, range_ns).ok_or_else(|| "the recording has no clock".to_owned())
    }

    /// The events that lie within the profile.
    fn told(&mut self, relation: &Relation) -> Vec<Told> {
        let mut all = Vec::new();
        for (name, mut met) in take(&mut self.kinds) {
            let count = met.keep.seen;
            let mut rows = take(&mut met.keep).into_rows();
            let found = rows.len();
            rows.retain(|row| {
                let ends = relation.profile_ns(row.at + row.took.unwrap_or(0.0)) / 1e6;
                ends >= self.range_ms[0] && relation.profile_ns(row.at) / 1e6 <= self.range_ms[1]
            });
            let outside = (found - rows.len()) as u64;
            self.outside += outside;
            let (label, count, shown) = (met.label.clone(), count - outside, rows.len() as u64);
            if shown > 0 {
                all.push(Told { kind: Kind { name, label, count, shown }, met, rows });
            }
        }
        all
    }

    /// Makes markers of them, in the tracks of their threads.
    fn mark(
        &self,
        all: Vec<Told>,
        relation: &Relation,
        stranger: Option<String>,
        schemas: &mut Vec<Json>,
        profile: &mut Profile,
    ) -> Result<Vec<Kind>, Wrong> {
        let categories = Categories::of(profile)?;
        let stacks = all.iter().flat_map(|told| &told.rows).filter_map(|row| row.stack);
        let stacks = self.stacks.write(stacks, profile, &categories)?;
        let old_tracks = profile.threads.len();
        let mut tracks = Tracks::of(profile, stranger)?;
        let mut markers: BTreeMap<usize, Vec<Marker>> = BTreeMap::new();
        let mut kinds = Vec::new();
        for Told { kind, met, rows } in all {
            let r#type = format!("jfr.{}", kind.name);
            let name = profile.string(&met.label);
            let category = categories.of_event(&kind.name, &met.category);
            schemas.push(schema(&r#type, &kind, &met));
            for row in rows {
                let start_ms = millis(relation.profile_ns(row.at));
                let end_ms = row.took.map(|took| millis(relation.profile_ns(row.at + took)));
                let track = match row.whose {
                    Whose::Thread(thread) => tracks.find(profile, &self.threads.list[thread], start_ms)?,
                    Whose::Somebody => tracks.of_somebody(profile)?,
                    Whose::Process => tracks.of_all(profile)?,
                };
                let mut data: Map<String, Json> = Map::new();
                for (key, cell) in row.data {
                    data.insert(key.to_string(), cell.into_json(profile));
                }
                data.insert("type".to_owned(), r#type.as_str().into());
                if let Some(stack) = row.stack {
                    data.insert("cause".to_owned(), json!({ "time": start_ms, "stack": stacks[&stack] }));
                }
                let data = to_raw_value(&data).map_err(|error| error.to_string())?;
                markers.entry(track).or_default().push(Marker { name, start_ms, end_ms, category, data });
            }
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

/// Whole microseconds, as all of the profile.
fn millis(ns: f64) -> f64 {
    (ns / 1e3).round() / 1e3
}

/// The pauses that JVMTI told of.
fn seen_pauses(profile: &Profile) -> Result<Vec<Moment>, Wrong> {
    #[derive(serde::Deserialize)]
    struct Data {
        r#type: String,
    }
    let table: Part = profile.threads[0].get("markers")?;
    let data: Vec<Data> = table.get("data")?;
    let (began, ended): (Vec<f64>, Vec<Option<f64>>) = (table.get("startTime")?, table.get("endTime")?);
    let rows = data.iter().zip(began).zip(ended).filter(|((data, _), _)| data.r#type == "gc_pause");
    let pause = |((_, began), ended): ((_, f64), Option<f64>)| {
        Some(Moment { began: began * 1e6, ended: ended? * 1e6 })
    };
    Ok(rows.filter_map(pause).collect())
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

/// How the front-end is to show a kind.
fn schema(r#type: &str, kind: &Kind, met: &Met) -> Json {
    let fields: Vec<String> = met.fields.iter().take(LABELLED).map(Shown::labelled).collect();
    let label = if fields.is_empty() { kind.label.clone() } else { fields.join(", ") };
    json!({
        "name": r#type,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "tableLabel": label,
        "chartLabel": label,
        "tooltipLabel": format!("{} ({}, by JFR)", kind.label, kind.name),
        "description": met.description,
        "fields": met.fields.iter().map(Shown::schema).collect::<Vec<_>>(),
    })
}

/// Puts into the profile's head what became of the recording.
fn tell(profile: &mut Profile, schemas: Vec<Json>, merged: &Merged) -> Result<(), Wrong> {
    let meta = &mut profile.meta;
    let mut all: Vec<Json> = meta.find("vouchMerged")?.unwrap_or_default();
    all.push(serde_json::to_value(merged).map_err(|error| error.to_string())?);
    meta.set("vouchMerged", &all)?;
    let mut known: Vec<Json> = meta.get("markerSchema")?;
    for mut schema in schemas {
        // Of a recording that was merged before: its markers may have fields that these have not.
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
