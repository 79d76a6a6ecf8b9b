//! The way of a recording into a profile: chunk by chunk, event by event, and when all are read, by one clock.

mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Seek};

use serde_json::Value as Json;
use vouch_jfr::{Chunk, Event, Header, Reader, Type, Value};

use crate::Merged;
use crate::Part;
use crate::anchors::Moment;
use crate::kept::{Keep, Whose};
use crate::names::{self, Thread};
use crate::profile::{Profile, Wrong};
use crate::show::{self, Shown, Texts, Times, Words, number};
use crate::stacks::Stacks;

/// Samples are the profile's own matter, and JFR's about itself nobody's.
const SAMPLES: [&str; 3] = ["jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"];
const ABOUT_ITSELF: [&str; 2] = ["jdk.ActiveSetting", "jdk.ActiveRecording"];
/// What may hold passwords is shown to nobody who has not asked for it, whatever the recording's settings are.
const PRIVATE: [&str; 4] = [
    "jdk.InitialEnvironmentVariable",
    "jdk.InitialSystemProperty",
    "jdk.InitialSecurityProperty",
    "jdk.SystemProcess",
];
/// The number of no constant.
const NO_THREAD: i64 = 0;
/// The agent's own thread.
const AGENT: &str = "Vouch";
/// Before it is known by how much the clocks are apart, that much beside the profile may still belong to it.
const BESIDE_MS: f64 = 2_000.0;

/// So many of each kind are shown if nobody asks for more.
pub const MOST: usize = 10_000;
/// So many fields a kind has that is declared again and again.
const MOST_FIELDS: usize = 300;
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
            Ok(chunk) => reading.chunk(&chunk)?,
            Err(damage) => reading.damage.push(damage),
        }
    }
    if reading.first.is_none() {
        let why = reading.damage.pop().unwrap_or_else(|| "it is empty".to_owned());
        return Err(format!("nothing could be read of {name}: {why}"));
    }
    reading.refuse_unknown()?;
    let merged = reading.write(&mut profile)?;
    Ok((profile.into_document()?, merged))
}

/// A kind of events, as it was met.
struct Met {
    label: String,
    description: String,
    category: Vec<String>,
    fields: Vec<Shown>,
    /// How each of them is shown, by its key; also those of a recording that was merged before.
    formats: HashMap<String, String>,
    keep: Keep,
}

impl Met {
    /// Takes in the fields of a kind that is met once more: declared anew in a later chunk, or twice, by two programs in one JVM.
    /// What has the key of another one and is shown in another way gets another key.
    fn join(&mut self, mut fields: Vec<Shown>) -> Vec<Shown> {
        for field in &mut fields {
            let name = field.key.clone();
            let mut number = 1;
            while self.formats.get(&*field.key).is_some_and(|known| known != field.format()) {
                number += 1;
                field.key = format!("{name}_{number}").into();
            }
            self.formats.insert(field.key.to_string(), field.format().to_owned());
            if self.fields.len() < MOST_FIELDS && self.fields.iter().all(|known| known.key != field.key) {
                self.fields.push(field.clone());
            }
        }
        fields
    }
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
    pids: BTreeSet<i64>,
    /// When chunks began that are in the profile already, and those that are new.
    merged_before: HashSet<i64>,
    chunks: Vec<i64>,
    /// How the profile shows the kinds that it has from a recording that was merged before.
    known_formats: HashMap<String, HashMap<String, String>>,
    /// All kinds that there are events of.
    names: BTreeSet<String>,
    outside: u64,
    unreadable: u64,
    damage: Vec<String>,
}

/// What is known of a chunk, and need not be found for each event.
struct ThisChunk<'c> {
    chunk: &'c Chunk,
    /// Otherwise the profile has its events.
    is_new: bool,
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
    /// Whose an event is, by the thread's place in the list.
    fn whose(&mut self, this: &mut ThisChunk<'_>, kind: &Type, values: &[Value]) -> Whose {
        let Some((value, index)) = constant(kind, values, "eventThread") else { return Whose::Process };
        if index == NO_THREAD {
            return Whose::Process;
        }
        let row = *this.threads.entry(index).or_insert_with(|| {
            let Value::Object(type_id, values) = show::resolve(this.chunk, &value) else { return None };
            let thread = names::thread(&mut Words::of(this.chunk), this.chunk.type_of(type_id)?, &values);
            Some(*self.rows.entry(thread).or_insert_with_key(|thread| {
                self.list.push(thread.clone());
                self.list.len() - 1
            }))
        });
        row.map_or(Whose::Somebody, Whose::Thread)
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
            states: PRIVATE.map(str::to_owned).into(),
            threads: Threads::default(),
            stacks: Stacks::default(),
            pids: BTreeSet::new(),
            merged_before: merged_before(profile)?,
            chunks: Vec::new(),
            known_formats: known_formats(profile)?,
            names: BTreeSet::new(),
            outside: 0,
            unreadable: 0,
            damage: Vec::new(),
        })
    }

    fn more_than_one_run(&self) -> Wrong {
        let name = &self.choice.recording;
        format!("{name} has chunks of more than one run: take them apart (jfr disassemble), and merge one")
    }

    /// By the recording's clock, in nanoseconds from its begin.
    fn at(&self, ticks: i64) -> f64 {
        let first = self.first.map_or(0, |first| first.start_ticks);
        let second = self.first.map_or(1, |first| first.ticks_per_second);
        number(ticks.wrapping_sub(first)) * (1e9 / number(second))
    }

    fn chunk(&mut self, chunk: &Chunk) -> Result<(), Wrong> {
        let header = chunk.header;
        let first = *self.first.get_or_insert(header);
        if (header.ticks_per_second, header.start_ticks >= first.start_ticks)
            != (first.ticks_per_second, true)
        {
            return Err(self.more_than_one_run());
        }
        let is_new = !self.merged_before.contains(&header.start_unix_ns);
        if is_new {
            self.chunks.push(header.start_unix_ns);
        }
        let at = self.at(header.start_ticks);
        self.by_day.push((at, number(header.start_unix_ns) - self.zero_unix_ms * 1e6 - at));
        self.damage
            .extend(chunk.damage.map(|damage| format!("some of its constants cannot be read: {damage}")));
        let mut this = ThisChunk {
            chunk,
            is_new,
            times: Times { zero_unix_ms: self.zero_unix_ms, header },
            texts: Texts::default(),
            fields: HashMap::new(),
            threads: HashMap::new(),
            stacks: HashMap::new(),
            names: chunk.types().map(|kind| (kind.id, kind.name.clone())).collect(),
            seen: HashSet::new(),
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
        Ok(())
    }

    fn event(&mut self, this: &mut ThisChunk<'_>, event: &Event<'_>) {
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
            "jdk.JVMInformation" => self.pids.extend(whole("pid")),
            "jdk.ActiveSetting" => self.setting(this, kind, &values, whole("id")),
            _ => {}
        }
        if !this.is_new || !self.is_wanted(&kind.name) {
            return;
        }
        let about_ms = this.times.about_ms(number(start));
        let ends_ms = about_ms + took_ns.unwrap_or(0.0) / 1e6;
        if ends_ms < self.range_ms[0] - BESIDE_MS || about_ms > self.range_ms[1] + BESIDE_MS {
            self.outside += 1;
            return;
        }
        let met = self.kinds.entry(kind.name.clone()).or_insert_with(|| Met {
            label: if kind.label.is_empty() { kind.name.clone() } else { kind.label.clone() },
            description: kind.description.clone(),
            category: kind.category.clone(),
            fields: Vec::new(),
            formats: self.known_formats.remove(&kind.name).unwrap_or_default(),
            keep: Keep::new(self.choice.most),
        });
        let fields = this.fields.entry(kind.id).or_insert_with(|| met.join(show::fields(this.chunk, kind)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration, above zero")]
        let Some(rank) = met.keep.rank(took_ns.unwrap_or(0.0) as u64) else { return };
        let data = show::data(this.chunk, fields, &values, this.times, &mut this.texts);
        let whose = self.threads.whose(this, kind, &values);
        let stack = constant(kind, &values, "stackTrace").and_then(|(value, index)| {
            *this.stacks.entry(index).or_insert_with(|| self.stacks.add(this.chunk, &value))
        });
        met.keep.add(rank, (at, took_ns), whose, stack, data);
    }

    /// True for what the agent's own thread did: it is no event of the program's.
    fn is_agents(&mut self, this: &mut ThisChunk<'_>, kind: &Type, values: &[Value]) -> bool {
        let Some(tid) = self.agent_tid else { return false };
        let Whose::Thread(row) = self.threads.whose(this, kind, values) else { return false };
        let Thread { tid: of, name, .. } = &self.threads.list[row];
        *of == tid && name == AGENT
    }

    /// A kind whose period is a chunk tells how things are, and nothing that happened.
    fn setting(&mut self, this: &ThisChunk<'_>, setting: &Type, values: &[Value], of: Option<i64>) {
        let text = |name| names::field(&mut Words::of(this.chunk), setting, values, name).unwrap_or_default();
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
}

/// When the chunks began that are in the profile already.
fn merged_before(profile: &Profile) -> Result<HashSet<i64>, Wrong> {
    let merged: Vec<Json> = profile.meta.find("vouchMerged")?.unwrap_or_default();
    let chunks = merged.iter().filter_map(|merged| merged["chunksUnixNs"].as_array()).flatten();
    Ok(chunks.filter_map(Json::as_i64).collect())
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
