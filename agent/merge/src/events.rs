//! The way of a recording into a profile: chunk by chunk, event by event, and when all are read, by one clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Seek};
use std::mem::take;

use serde_json::value::to_raw_value;
use serde_json::{Value as Json, json};
use vouch_jfr::{Chunk, Event, Header, Reader, Type, Value};

use crate::anchors::{Moment, Moments, relate};
use crate::clock::Relation;
use crate::kept::Keep;
use crate::names::{self, Thread};
use crate::profile::{Marker, Profile, Wrong};
use crate::show::{self, Shown, Texts, Times, number};
use crate::stacks::{Categories, Stacks};
use crate::threads::Tracks;
use crate::{Clock, Kind, Merged, Part};

/// Samples are the profile's own matter, and JFR's about itself nobody's.
const SAMPLES: [&str; 3] = ["jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"];
const ABOUT_ITSELF: [&str; 2] = ["jdk.ActiveSetting", "jdk.ActiveRecording"];
/// The agent's own thread.
const AGENT: &str = "Vouch";
/// Before it is known by how much the clocks are apart, that much beside the profile may still belong to it.
const BESIDE_MS: f64 = 2_000.0;

/// So many of each kind are shown if nobody asks for more.
pub const MOST: usize = 10_000;
/// So many fields of a marker stand in its label.
const LABELLED: usize = 3;
/// So many kinds are told to somebody who asked for one that there is not.
const TOLD: usize = 12;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Choice {
    /// How the recording is called.
    pub recording: String,
    /// Kinds by name, `*` for any part of one; none: all that tell what happened.
    pub events: Vec<String>,
    /// So many of each kind are shown.
    pub most: usize,
}

/// Puts a recording into a profile. A mistake is a sentence.
pub fn merge<F: Read + Seek>(profile: Part, recording: F, choice: &Choice) -> Result<(Part, Merged), Wrong> {
    let name = &choice.recording;
    let unreadable = |error: io::Error| format!("{name} cannot be read: {error}");
    let mut profile =
        Profile::new(profile).map_err(|wrong| format!("the profile is none of Vouch's: {wrong}"))?;
    let mut reader = Reader::new(recording).map_err(unreadable)?;
    let mut reading = Reading::of(&profile, choice)?;
    while let Some(chunk) = reader.next_chunk().map_err(unreadable)? {
        match chunk {
            Ok(chunk) => reading.chunk(&chunk, &mut profile)?,
            Err(damage) => reading.damage.push(damage),
        }
    }
    let Some(first) = reading.first else {
        let why = reading.damage.pop().unwrap_or_else(|| "it is empty".to_owned());
        return Err(format!("nothing could be read of {name}: {why}"));
    };
    reading.refuse_unknown()?;
    let merged = reading.write(first, &mut profile)?;
    Ok((profile.into_document()?, merged))
}

/// A kind of events, as it was met.
struct Met {
    label: String,
    description: String,
    category: Vec<String>,
    /// By their keys: a kind may be declared anew in a later chunk.
    fields: Vec<Shown>,
    keep: Keep,
}

struct Reading<'c> {
    choice: &'c Choice,
    zero_unix_ms: f64,
    /// The profile's begin and end.
    range_ms: [f64; 2],
    own_pid: String,
    first: Option<Header>,
    by_day: Vec<(f64, f64)>,
    pauses: Vec<Moment>,
    /// Those of the agent's own thread: by its number.
    agent_tid: Option<u64>,
    waits: Vec<Moment>,
    kinds: BTreeMap<String, Met>,
    /// Kinds that are told once a chunk, whatever happens.
    states: BTreeSet<String>,
    threads: Threads,
    stacks: Stacks,
    pid: Option<String>,
    /// All kinds that there are events of.
    names: BTreeSet<String>,
    outside: u64,
    unreadable: u64,
    damage: Vec<String>,
}

/// What is known of a chunk, and need not be found for each event.
struct ThisChunk<'c> {
    chunk: &'c Chunk,
    times: Times,
    texts: Texts,
    fields: HashMap<i64, Vec<Shown>>,
    threads: HashMap<i64, Option<usize>>,
    stacks: HashMap<i64, Option<usize>>,
    names: HashMap<i64, String>,
    seen: HashSet<i64>,
}

/// The threads of all events, once each.
#[derive(Default)]
struct Threads {
    list: Vec<Thread>,
    rows: HashMap<Thread, usize>,
}

impl Threads {
    /// That of an event, by its place in the list.
    fn of(&mut self, this: &mut ThisChunk<'_>, kind: &Type, values: &[Value]) -> Option<usize> {
        let (value, index) = constant(kind, values, "eventThread")?;
        *this.threads.entry(index).or_insert_with(|| {
            let Value::Object(type_id, values) = show::resolve(this.chunk, &value) else { return None };
            let thread = names::thread(this.chunk, this.chunk.type_of(type_id)?, &values);
            Some(*self.rows.entry(thread).or_insert_with_key(|thread| {
                self.list.push(thread.clone());
                self.list.len() - 1
            }))
        })
    }
}

impl<'c> Reading<'c> {
    fn of(profile: &Profile, choice: &'c Choice) -> Result<Self, Wrong> {
        let meta = &profile.meta;
        let first = profile.threads.first().ok_or("the profile has no thread")?;
        Ok(Self {
            choice,
            zero_unix_ms: meta.get("startTime")?,
            range_ms: [meta.get("profilingStartTime")?, meta.get("profilingEndTime")?],
            own_pid: first.get("pid")?,
            first: None,
            by_day: Vec::new(),
            pauses: Vec::new(),
            agent_tid: anchors(profile)?.map(|anchors| anchors.tid),
            waits: Vec::new(),
            kinds: BTreeMap::new(),
            states: BTreeSet::new(),
            threads: Threads::default(),
            stacks: Stacks::default(),
            pid: None,
            names: BTreeSet::new(),
            outside: 0,
            unreadable: 0,
            damage: Vec::new(),
        })
    }

    /// By the recording's clock, in nanoseconds from its begin.
    fn at(&self, ticks: i64) -> f64 {
        let first = self.first.map_or(0, |first| first.start_ticks);
        let second = self.first.map_or(1, |first| first.ticks_per_second);
        number(ticks.wrapping_sub(first)) * (1e9 / number(second))
    }

    fn chunk(&mut self, chunk: &Chunk, profile: &mut Profile) -> Result<(), Wrong> {
        let header = chunk.header;
        let first = *self.first.get_or_insert(header);
        if (header.ticks_per_second, header.start_ticks >= first.start_ticks)
            != (first.ticks_per_second, true)
        {
            return Err(format!(
                "{} has chunks of more than one run: take them apart (jfr disassemble), and merge one",
                self.choice.recording
            ));
        }
        if self.by_day.is_empty() {
            refuse_again(profile, self.choice, header)?;
        }
        let at = self.at(header.start_ticks);
        self.by_day.push((at, number(header.start_unix_ns) - self.zero_unix_ms * 1e6 - at));
        self.damage
            .extend(chunk.damage.map(|damage| format!("some of its constants cannot be read: {damage}")));
        let mut this = ThisChunk {
            chunk,
            times: Times { zero_unix_ms: self.zero_unix_ms, header },
            texts: Texts::default(),
            fields: HashMap::new(),
            threads: HashMap::new(),
            stacks: HashMap::new(),
            names: chunk.types().map(|kind| (kind.id, kind.name.clone())).collect(),
            seen: HashSet::new(),
        };
        for event in chunk.events() {
            match event {
                Ok(event) => self.event(&mut this, &event, profile),
                Err(damage) => self.damage.push(format!("the rest of a chunk cannot be read: {damage}")),
            }
        }
        Ok(())
    }

    fn event(&mut self, this: &mut ThisChunk<'_>, event: &Event<'_>, profile: &mut Profile) {
        let kind = event.kind;
        if this.seen.insert(kind.id) {
            self.names.insert(kind.name.clone());
        }
        let Ok(values) = event.values() else {
            self.unreadable += 1;
            return;
        };
        let whole = |name: &str| match kind.field(name).and_then(|row| values.get(row)) {
            Some(Value::Whole(number)) => Some(*number),
            _ => None,
        };
        let Some(start) = whole("startTime") else { return };
        let took = whole("duration").filter(|ticks| *ticks > 0);
        let took_ns = took.map(|ticks| this.times.span_ms(number(ticks)) * 1e6);
        let at = self.at(start);
        match kind.name.as_str() {
            "jdk.GCPhasePause" => {
                self.pauses.push(Moment { began: at, ended: at + took_ns.unwrap_or(0.0) });
            }
            "jdk.JavaMonitorWait" if self.is_agents(this, kind, &values) => {
                self.waits.push(Moment { began: at, ended: at + took_ns.unwrap_or(0.0) });
                return;
            }
            "jdk.JVMInformation" => self.pid = whole("pid").map(|pid| pid.to_string()).or(self.pid.take()),
            "jdk.ActiveSetting" => self.setting(this, kind, &values, whole("id")),
            _ => {}
        }
        if !self.is_wanted(&kind.name) {
            return;
        }
        let about_ms = this.times.about_ms(number(start));
        let ends_ms = about_ms + took_ns.unwrap_or(0.0) / 1e6;
        if ends_ms < self.range_ms[0] - BESIDE_MS || about_ms > self.range_ms[1] + BESIDE_MS {
            self.outside += 1;
            return;
        }
        let fields = this.fields.entry(kind.id).or_insert_with(|| show::fields(this.chunk, kind));
        let met = self.kinds.entry(kind.name.clone()).or_insert_with(|| Met {
            label: if kind.label.is_empty() { kind.name.clone() } else { kind.label.clone() },
            description: kind.description.clone(),
            category: kind.category.clone(),
            fields: Vec::new(),
            keep: Keep::new(self.choice.most),
        });
        for field in fields.iter() {
            if met.fields.iter().all(|known| known.key != field.key) {
                met.fields.push(field.clone());
            }
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration, above zero")]
        let Some(rank) = met.keep.rank(took_ns.unwrap_or(0.0) as u64) else { return };
        let data = show::data(this.chunk, fields, &values, this.times, &mut this.texts, profile);
        let thread = self.threads.of(this, kind, &values);
        let stack = constant(kind, &values, "stackTrace").and_then(|(value, index)| {
            *this.stacks.entry(index).or_insert_with(|| self.stacks.add(this.chunk, &value, profile))
        });
        met.keep.add(rank, (at, took_ns), thread, stack, data);
    }

    /// True for what the agent's own thread did: it is no event of the program's.
    fn is_agents(&mut self, this: &mut ThisChunk<'_>, kind: &Type, values: &[Value]) -> bool {
        let Some(tid) = self.agent_tid else { return false };
        let thread = self.threads.of(this, kind, values).map(|row| &self.threads.list[row]);
        thread.is_some_and(|thread| thread.tid == tid && thread.name == AGENT)
    }

    /// A kind whose period is a chunk tells how things are, and nothing that happened.
    fn setting(&mut self, this: &ThisChunk<'_>, setting: &Type, values: &[Value], of: Option<i64>) {
        let text = |name| names::field(this.chunk, setting, values, name).unwrap_or_default();
        if text("name") == "period"
            && ["everyChunk", "beginChunk", "endChunk"].contains(&text("value").as_str())
        {
            self.states.extend(of.and_then(|of| this.names.get(&of)).cloned());
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        if self.choice.events.is_empty() {
            return !SAMPLES.contains(&name) && !ABOUT_ITSELF.contains(&name);
        }
        self.choice.events.iter().any(|pattern| is_like(name, pattern))
    }

    /// A kind that was asked for and is not there is a slip of the pen.
    fn refuse_unknown(&self) -> Result<(), Wrong> {
        let is_met = |pattern: &&String| self.names.iter().any(|name| is_like(name, pattern));
        let Some(unknown) = self.choice.events.iter().find(|pattern| !is_met(pattern)) else { return Ok(()) };
        // The program's own first: those of the JDK are in every recording.
        let (jdk, mut names): (Vec<&str>, Vec<&str>) =
            self.names.iter().map(String::as_str).partition(|name| name.starts_with("jdk."));
        names.extend(jdk);
        let more = names.len().saturating_sub(TOLD);
        names.truncate(TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Err(format!("{} has no event {unknown}: it has {}{more}", self.choice.recording, names.join(", ")))
    }

    fn write(mut self, first: Header, profile: &mut Profile) -> Result<Merged, Wrong> {
        let stranger = self.pid.take().filter(|pid| *pid != self.own_pid);
        let (mut pauses, mut waits) = (
            Moments { seen: Vec::new(), recorded: take(&mut self.pauses) },
            Moments { seen: Vec::new(), recorded: take(&mut self.waits) },
        );
        if stranger.is_none() {
            pauses.seen = seen_pauses(profile)?;
            waits.seen = anchors(profile)?.map_or_else(Vec::new, Anchors::moments);
        }
        let (relation, counts) = relate(&self.by_day, pauses, waits).ok_or("the recording has no clock")?;
        let mut left_out = Vec::new();
        if self.choice.events.is_empty() {
            let states = take(&mut self.states);
            left_out.extend(states.into_iter().filter(|name| self.kinds.remove(name).is_some()));
        }
        let categories = Categories::of(profile)?;
        let stacks = take(&mut self.stacks).write(profile, &categories)?;
        let mut tracks = Tracks::of(profile, stranger.clone())?;
        let mut markers: BTreeMap<usize, Vec<Marker>> = BTreeMap::new();
        let (mut kinds, mut schemas) = (Vec::new(), Vec::new());
        let mut span = [f64::INFINITY, f64::NEG_INFINITY];
        for (name, met) in take(&mut self.kinds) {
            let r#type = format!("jfr.{name}");
            let (label, category) = (profile.string(&met.label), categories.of_event(&name, &met.category));
            let mut kind = Kind { label: met.label.clone(), count: met.keep.seen, shown: 0, name };
            schemas.push(schema(&r#type, &kind, &met));
            for row in met.keep.into_rows() {
                let start_ms = millis(relation.profile_ns(row.at));
                let end_ms = row.took.map(|took| millis(relation.profile_ns(row.at + took)));
                if end_ms.unwrap_or(start_ms) < self.range_ms[0] || start_ms > self.range_ms[1] {
                    self.outside += 1;
                    kind.count -= 1;
                    continue;
                }
                span = [span[0].min(row.at), span[1].max(row.at + row.took.unwrap_or(0.0))];
                let track = match row.thread {
                    Some(thread) => tracks.find(profile, &self.threads.list[thread], start_ms)?,
                    None => tracks.of_all(profile)?,
                };
                let mut data = row.data;
                data.insert("type".to_owned(), r#type.as_str().into());
                if let Some(stack) = row.stack {
                    data.insert("cause".to_owned(), json!({ "time": start_ms, "stack": stacks + stack }));
                }
                let data = to_raw_value(&data).map_err(|error| error.to_string())?;
                kind.shown += 1;
                markers.entry(track).or_default().push(Marker {
                    name: label,
                    start_ms,
                    end_ms,
                    category,
                    data,
                });
            }
            kinds.push(kind);
        }
        for (track, markers) in markers {
            profile.add_markers(track, markers)?;
        }
        kinds.retain(|kind| kind.shown > 0);
        kinds.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
        let span = if span[0] > span[1] { [0.0, 0.0] } else { span };
        let merged = Merged {
            recording: self.choice.recording.clone(),
            began_unix_ns: first.start_unix_ns,
            stranger,
            kinds,
            outside: self.outside,
            unreadable: self.unreadable,
            left_out,
            clock: clock(&relation, counts, span, self.by_day.first().copied()),
            damage: self.damage,
        };
        tell(profile, schemas, &merged)?;
        Ok(merged)
    }
}

/// Kept once, two recordings of one begin are one.
fn refuse_again(profile: &Profile, choice: &Choice, header: Header) -> Result<(), Wrong> {
    let merged: Vec<Json> = profile.meta.find("vouchMerged")?.unwrap_or_default();
    if merged.iter().any(|merged| merged["beganUnixNs"].as_i64() == Some(header.start_unix_ns)) {
        return Err(format!("{} is in the profile already", choice.recording));
    }
    Ok(())
}

/// Whole microseconds, as all of the profile.
fn millis(ns: f64) -> f64 {
    (ns / 1e3).round() / 1e3
}

/// True if `*` may stand for whatever it has to.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    loop {
        if is_like(name, rest) {
            return true;
        }
        let Some((next, _)) = name.char_indices().nth(1) else { return rest.is_empty() };
        name = &name[next..];
    }
}

/// The index and value of a field that is a constant.
fn constant(kind: &Type, values: &[Value], name: &str) -> Option<(Value, i64)> {
    match values.get(kind.field(name)?)? {
        value @ Value::Constant(_, index) => Some((value.clone(), *index)),
        _ => None,
    }
}

/// When the agent's thread waited for JFR to tell of it.
#[derive(serde::Deserialize)]
struct Anchors {
    tid: u64,
    ns: Vec<[f64; 2]>,
}

impl Anchors {
    fn moments(self) -> Vec<Moment> {
        self.ns.into_iter().map(|[began, ended]| Moment { began, ended }).collect()
    }
}

fn anchors(profile: &Profile) -> Result<Option<Anchors>, Wrong> {
    profile.meta.find("vouchAnchors")
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
    // Of a recording that was merged before: its kinds have the same names.
    known.retain(|known| schemas.iter().all(|schema| schema["name"] != known["name"]));
    known.extend(schemas);
    meta.set("markerSchema", &known)?;
    let mut panel: Vec<Json> = meta.find("extra")?.unwrap_or_default();
    if let Some(entries) = panel.first_mut().and_then(|section| section["entries"].as_array_mut()) {
        entries.push(json!({ "label": "Flight Recorder", "format": "string", "value": merged.line() }));
    }
    meta.set("extra", &panel)
}
