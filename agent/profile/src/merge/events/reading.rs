//! Reads the events of a recording, chunk by chunk. Events outside of the profile's time are only
//! counted.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Error;
use serde_json::Value as Json;
use vouch_jfr::{Chunk, Event, Type, Value};

use crate::merge::choice::{Choice, is_like};
use crate::merge::clock::Relation;
use crate::merge::kept::{EventOwner, Keep};
use crate::merge::names::{Thread, constant};
use crate::merge::profile::Profile;
use crate::merge::show::{self, Constants, Shown};
use crate::merge::stacks::Stacks;
use crate::merge::survey::Survey;

/// The kinds that are not added by default: samples, which the profile already has, and JFR's own
/// settings.
const SAMPLES: [&str; 3] = ["jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"];
const ABOUT_ITSELF: [&str; 2] = ["jdk.ActiveSetting", "jdk.ActiveRecording"];
/// The index of the null constant, by which an event refers to no thread.
const NO_THREAD: i64 = 0;

/// A kind that several chunks declare has at most this many fields.
const MAX_FIELDS: usize = 300;

/// An event kind of the recording, with its fields.
pub(super) struct KnownKind {
    pub(super) label: String,
    pub(super) description: String,
    pub(super) category: Vec<String>,
    pub(super) fields: Vec<Shown>,
    /// The format of each field by its key, including fields of recordings that were added before.
    pub(super) formats: HashMap<String, String>,
    /// The fields that the profile's markers have already.
    pub(super) merged: HashSet<String>,
    pub(super) keep: Keep,
}

impl KnownKind {
    /// Adds the fields of another declaration of the kind, from a later chunk or another program in
    /// the JVM. A field with a known key and another format gets another key.
    fn join(&mut self, mut fields: Vec<Shown>) -> Vec<Shown> {
        for field in &mut fields {
            let name = field.key.clone();
            let mut number = 1;
            // An earlier number was too long, so all are texts.
            if field.may_be_long() && self.formats.get(&*name).is_some_and(|known| known == "unique-string") {
                *field = field.as_text();
            }
            while self.formats.get(&*field.key).is_some_and(|known| known != field.format()) {
                number += 1;
                field.key = format!("{name}_{number}").into();
            }
            self.formats.insert(field.key.to_string(), field.format().to_owned());
            if self.fields.len() < MAX_FIELDS && self.fields.iter().all(|known| known.key != field.key) {
                self.fields.push(field.clone());
            }
        }
        fields
    }
}

/// The events that were read, and what is needed to write them.
pub(super) struct Reading<'c> {
    pub(super) choice: &'c Choice,
    pub(super) survey: Survey,
    pub(super) relation: Relation,
    /// The numbers of pauses and of waits that relate the clocks.
    pub(super) moments: [usize; 2],
    /// The pid of the recording's process, if the profile is of another process.
    pub(super) stranger: Option<String>,
    /// The start and end of the profile.
    pub(super) range_ms: [f64; 2],
    pub(super) kinds: BTreeMap<String, KnownKind>,
    pub(super) threads: Threads,
    pub(super) stacks: Stacks,
    /// The formats of fields by the kind's name, from recordings that were added before.
    pub(super) known_formats: HashMap<String, HashMap<String, String>>,
    pub(super) outside: u64,
    pub(super) unreadable: u64,
    pub(super) damage: Vec<String>,
}

/// A chunk, with caches for its events.
struct ThisChunk<'c> {
    chunk: &'c Chunk,
    /// The kinds that the profile has from this chunk already.
    merged: &'c HashSet<String>,
    constants: Constants,
    fields: HashMap<i64, Vec<Shown>>,
    threads: HashMap<i64, Option<usize>>,
    stacks: HashMap<i64, Option<usize>>,
}

/// The threads of all events, each once.
#[derive(Default)]
pub(super) struct Threads {
    pub(super) list: Vec<Thread>,
    pub(super) rows: HashMap<Thread, usize>,
}

impl Threads {
    /// Returns the thread or process of an event.
    fn owner(&mut self, this: &mut ThisChunk<'_>, kind: &Type, values: &[Value]) -> EventOwner {
        let Some((value, index)) = constant(kind, values, "eventThread") else { return EventOwner::Process };
        if index == NO_THREAD {
            return EventOwner::Process;
        }
        let row = *this.threads.entry(index).or_insert_with(|| {
            let thread = Thread::new(this.chunk, &value)?;
            Some(*self.rows.entry(thread).or_insert_with_key(|thread| {
                self.list.push(thread.clone());
                self.list.len() - 1
            }))
        });
        row.map_or(EventOwner::UnknownThread, EventOwner::Thread)
    }
}

impl<'c> Reading<'c> {
    pub(super) fn new(mut survey: Survey, profile: &Profile, choice: &'c Choice) -> Result<Self, Error> {
        let meta = &profile.meta;
        let first = profile.threads.first().ok_or(Error::NoThread)?;
        let range_ms = [meta.get("profilingStartTime")?, meta.get("profilingEndTime")?];
        let stranger = survey.stranger(&first.get::<String>("pid")?);
        let (relation, moments) = survey.relate(profile, range_ms, stranger.is_some())?;
        let damage = std::mem::take(&mut survey.damage);
        Ok(Self {
            choice,
            survey,
            relation,
            moments,
            stranger,
            range_ms,
            kinds: BTreeMap::new(),
            threads: Threads::default(),
            stacks: Stacks::default(),
            known_formats: known_formats(profile)?,
            outside: 0,
            unreadable: 0,
            damage,
        })
    }

    pub(super) fn chunk(&mut self, chunk: &Chunk, index: usize) {
        let Some(seen) = self.survey.seen(chunk.header.start_unix_ns, index) else { return };
        let merged = seen.merged.clone();
        self.damage
            .extend(chunk.damage.map(|damage| format!("some of its constants cannot be read: {damage}")));
        let mut this = ThisChunk {
            chunk,
            merged: &merged,
            constants: Constants::default(),
            fields: HashMap::new(),
            threads: HashMap::new(),
            stacks: HashMap::new(),
        };
        let mut damage = None;
        for event in chunk.events() {
            match event {
                Ok(event) => self.event(&mut this, &event),
                Err(wrong) => {
                    self.unreadable += 1;
                    damage = Some(wrong);
                }
            }
        }
        self.damage.extend(damage.map(|damage| format!("a part of a chunk cannot be read: {damage}")));
    }

    fn event(&mut self, this: &mut ThisChunk<'_>, event: &Event<'_>) {
        let kind = event.kind;
        if this.merged.contains(&kind.name) || !self.is_wanted(&kind.name) {
            return;
        }
        let Ok(values) = event.values() else {
            self.unreadable += 1;
            return;
        };
        let Some(start) = kind.integer_field(&values, "startTime") else {
            self.unreadable += 1;
            return;
        };
        let ticks = self.survey.ticks;
        let at = ticks.at(start);
        let took_ns = kind.integer_field(&values, "duration").filter(|took| *took > 0);
        let took_ns = took_ns.map(|took| ticks.lasting(took));
        let ends_ms = self.relation.profile_ns(at + took_ns.unwrap_or(0.0)) / 1e6;
        if ends_ms < self.range_ms[0] || self.relation.profile_ns(at) / 1e6 > self.range_ms[1] {
            self.outside += 1;
            return;
        }
        let owner = self.threads.owner(this, kind, &values);
        if let (EventOwner::Thread(row), "jdk.JavaMonitorWait") = (owner, kind.name.as_str())
            && self.survey.is_agents(&self.threads.list[row])
        {
            return;
        }
        let known_kind = self.kinds.entry(kind.name.clone()).or_insert_with(|| {
            let formats = self.known_formats.remove(&kind.name).unwrap_or_default();
            KnownKind {
                label: kind.title().to_owned(),
                description: kind.description.clone(),
                category: kind.category.clone(),
                fields: Vec::new(),
                merged: formats.keys().cloned().collect(),
                formats,
                keep: Keep::new(self.choice.most),
            }
        });
        let fields =
            this.fields.entry(kind.id).or_insert_with(|| known_kind.join(show::fields(this.chunk, kind)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration, above zero")]
        let Some(rank) = known_kind.keep.rank(took_ns.unwrap_or(0.0) as u64) else { return };
        let data = show::data(this.chunk, fields, &values, &mut this.constants);
        let stack = constant(kind, &values, "stackTrace").and_then(|(value, index)| {
            *this.stacks.entry(index).or_insert_with(|| self.stacks.add(this.chunk, &value))
        });
        known_kind.keep.add(rank, (at, took_ns), owner, stack, data);
    }

    fn is_wanted(&self, name: &str) -> bool {
        if self.choice.events.is_empty() {
            return !SAMPLES.contains(&name)
                && !ABOUT_ITSELF.contains(&name)
                && !self.survey.states.contains(name);
        }
        self.choice.events.iter().any(|pattern| is_like(name, pattern))
    }
}

/// Returns the formats of fields by kind, from recordings that were added before.
fn known_formats(profile: &Profile) -> Result<HashMap<String, HashMap<String, String>>, Error> {
    let schemas: Vec<Json> = profile.meta.get("markerSchema")?;
    let formats = |schema: &Json| {
        let name = schema["name"].as_str()?.strip_prefix("jfr.")?.to_owned();
        let fields = schema["fields"].as_array()?.iter();
        let format =
            |field: &Json| Some((field["key"].as_str()?.to_owned(), field["format"].as_str()?.to_owned()));
        Some((name, fields.filter_map(format).collect()))
    };
    Ok(schemas.iter().filter_map(formats).collect())
}
