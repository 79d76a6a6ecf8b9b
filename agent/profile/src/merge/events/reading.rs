//! Reads the events of a recording, chunk by chunk, by a clock that is known. What happened outside
//! of the profile's time is counted, and nothing else of it is kept.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::document::Wrong;
use serde_json::Value as Json;
use vouch_jfr::{Chunk, Event, Type, Value};

use crate::merge::choice::{Choice, is_like};
use crate::merge::clock::Relation;
use crate::merge::kept::{Keep, Whose};
use crate::merge::names::{Thread, constant};
use crate::merge::profile::Profile;
use crate::merge::show::{self, Constants, Shown};
use crate::merge::stacks::Stacks;
use crate::merge::survey::Survey;

/// Samples are the profile's own matter, and JFR's about itself nobody's.
const SAMPLES: [&str; 3] = ["jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"];
const ABOUT_ITSELF: [&str; 2] = ["jdk.ActiveSetting", "jdk.ActiveRecording"];
/// The number of no constant.
const NO_THREAD: i64 = 0;

/// How many fields are kept of a kind that several chunks declare.
const MAX_FIELDS: usize = 300;

/// A kind of events, as it was met.
pub(super) struct Met {
    pub(super) label: String,
    pub(super) description: String,
    pub(super) category: Vec<String>,
    pub(super) fields: Vec<Shown>,
    /// How each of them is shown, by its key; also those of a recording that was merged before.
    pub(super) formats: HashMap<String, String>,
    /// Those that the profile's markers have already.
    pub(super) merged: HashSet<String>,
    pub(super) keep: Keep,
}

impl Met {
    /// Takes in the fields of a kind that is met once more: declared anew in a later chunk, or
    /// twice, by two programs in one JVM. What has the key of another one and is shown in another
    /// way gets another key.
    fn join(&mut self, mut fields: Vec<Shown>) -> Vec<Shown> {
        for field in &mut fields {
            let name = field.key.clone();
            let mut number = 1;
            // Its numbers were too long once.
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

pub(super) struct Reading<'c> {
    pub(super) choice: &'c Choice,
    pub(super) survey: Survey,
    pub(super) relation: Relation,
    /// By how many pauses and waits it is known.
    pub(super) moments: [usize; 2],
    pub(super) stranger: Option<String>,
    /// The profile's begin and end.
    pub(super) range_ms: [f64; 2],
    pub(super) kinds: BTreeMap<String, Met>,
    pub(super) threads: Threads,
    pub(super) stacks: Stacks,
    /// How the profile shows the kinds that it has from a recording that was merged before.
    pub(super) known_formats: HashMap<String, HashMap<String, String>>,
    pub(super) outside: u64,
    pub(super) unreadable: u64,
    pub(super) damage: Vec<String>,
}

/// What is known of a chunk, and need not be found for each event.
struct ThisChunk<'c> {
    chunk: &'c Chunk,
    /// Kinds of which the profile has its events.
    merged: &'c HashSet<String>,
    constants: Constants,
    fields: HashMap<i64, Vec<Shown>>,
    threads: HashMap<i64, Option<usize>>,
    stacks: HashMap<i64, Option<usize>>,
}

/// The threads of all events, once each.
#[derive(Default)]
pub(super) struct Threads {
    pub(super) list: Vec<Thread>,
    pub(super) rows: HashMap<Thread, usize>,
}

impl Threads {
    /// Whose an event is, by the thread's place in the list.
    fn whose(&mut self, this: &mut ThisChunk<'_>, kind: &Type, values: &[Value]) -> Whose {
        let Some((value, index)) = constant(kind, values, "eventThread") else { return Whose::Process };
        if index == NO_THREAD {
            return Whose::Process;
        }
        let row = *this.threads.entry(index).or_insert_with(|| {
            let thread = Thread::new(this.chunk, &value)?;
            Some(*self.rows.entry(thread).or_insert_with_key(|thread| {
                self.list.push(thread.clone());
                self.list.len() - 1
            }))
        });
        row.map_or(Whose::Somebody, Whose::Thread)
    }
}

impl<'c> Reading<'c> {
    pub(super) fn new(mut survey: Survey, profile: &Profile, choice: &'c Choice) -> Result<Self, Wrong> {
        let meta = &profile.meta;
        let first = profile.threads.first().ok_or("the profile has no thread")?;
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

    pub(super) fn chunk(&mut self, chunk: &Chunk, place: usize) {
        let Some(seen) = self.survey.seen(chunk.header.start_unix_ns, place) else { return };
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
        let Some(start) = kind.whole(&values, "startTime") else {
            self.unreadable += 1;
            return;
        };
        let ticks = self.survey.ticks;
        let at = ticks.at(start);
        let took_ns = kind.whole(&values, "duration").filter(|took| *took > 0);
        let took_ns = took_ns.map(|took| ticks.lasting(took));
        let ends_ms = self.relation.profile_ns(at + took_ns.unwrap_or(0.0)) / 1e6;
        if ends_ms < self.range_ms[0] || self.relation.profile_ns(at) / 1e6 > self.range_ms[1] {
            self.outside += 1;
            return;
        }
        let whose = self.threads.whose(this, kind, &values);
        if let (Whose::Thread(row), "jdk.JavaMonitorWait") = (whose, kind.name.as_str())
            && self.survey.is_agents(&self.threads.list[row])
        {
            return;
        }
        let met = self.kinds.entry(kind.name.clone()).or_insert_with(|| {
            let formats = self.known_formats.remove(&kind.name).unwrap_or_default();
            Met {
                label: kind.title().to_owned(),
                description: kind.description.clone(),
                category: kind.category.clone(),
                fields: Vec::new(),
                merged: formats.keys().cloned().collect(),
                formats,
                keep: Keep::new(self.choice.most),
            }
        });
        let fields = this.fields.entry(kind.id).or_insert_with(|| met.join(show::fields(this.chunk, kind)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration, above zero")]
        let Some(rank) = met.keep.rank(took_ns.unwrap_or(0.0) as u64) else { return };
        let data = show::data(this.chunk, fields, &values, &mut this.constants);
        let stack = constant(kind, &values, "stackTrace").and_then(|(value, index)| {
            *this.stacks.entry(index).or_insert_with(|| self.stacks.add(this.chunk, &value))
        });
        met.keep.add(rank, (at, took_ns), whose, stack, data);
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

/// Of the kinds that the profile has from recordings: how each field is shown, by its key.
fn known_formats(profile: &Profile) -> Result<HashMap<String, HashMap<String, String>>, Wrong> {
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
