//! What has to be known of a recording before any of its events can be placed: which chunks there
//! are, how its clock and the profile's relate, whose it is, and which kinds tell how things are.
//!
//! It reads the whole file, and of most events no more than what kind they are. It must never keep
//! an event.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Seek};
use std::mem::take;

use serde_json::Value as Json;
use vouch_jfr::{Chunk, Event, Header, Reader, Type, Value};

use crate::document::{Part, Wrong};
use crate::merge::anchors::{A_DAY, Moment, Moments, relate};
use crate::merge::choice::{Choice, is_like};
use crate::merge::clock::Relation;
use crate::merge::names::{self, Thread, Words, constant};
use crate::merge::profile::Profile;
use crate::merge::show::{Ticks, number};

/// What may hold passwords is shown to nobody who has not asked for it, whatever the recording's
/// settings are.
const PRIVATE: [&str; 4] = [
    "jdk.InitialEnvironmentVariable",
    "jdk.InitialSystemProperty",
    "jdk.InitialSecurityProperty",
    "jdk.SystemProcess",
];
/// The agent's own thread.
const AGENT: &str = "Vouch";
/// So many kinds are told to somebody who asked for one that there is not.
const TOLD: usize = 12;

/// A chunk, by its place among those of the file that can be read.
#[derive(Debug)]
pub struct Seen {
    place: usize,
    pub bytes: u64,
    /// Kinds of which the profile has its events.
    pub merged: HashSet<String>,
}

/// What was found.
#[derive(Debug)]
pub struct Survey {
    /// That of the first chunk.
    pub ticks: Ticks,
    /// At such a time by the recording's clock so much is to be added, says the time of day.
    pub by_day: Vec<(f64, f64)>,
    /// Kinds that are told once a chunk, whatever happens.
    pub states: BTreeSet<String>,
    /// By when they began.
    pub chunks: BTreeMap<i64, Seen>,
    pub damage: Vec<String>,
    pauses: Vec<Moment>,
    waits: Vec<Moment>,
    /// What the profile says of the agent's own waits.
    anchors: Anchors,
    pids: BTreeSet<i64>,
    /// All kinds that there are events of.
    names: BTreeSet<String>,
}

impl Survey {
    pub fn of<F: Read + Seek>(
        reader: &mut Reader<F>,
        profile: &Profile,
        choice: &Choice,
    ) -> Result<Self, Wrong> {
        let name = &choice.recording;
        let zero_unix_ms: f64 = profile.meta.get("startTime")?;
        let before = merged_before(profile)?;
        let (mut survey, mut damage, mut place) = (None::<Self>, Vec::new(), 0);
        while let Some(chunk) = reader.next_chunk().map_err(|error| unreadable(name, &error))? {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(wrong) => {
                    damage.push(wrong);
                    continue;
                }
            };
            let survey = match &mut survey {
                Some(survey) => survey,
                None => survey.insert(Self::begin(chunk.header, profile)?),
            };
            survey.chunk(&chunk, place, zero_unix_ms, choice)?;
            place += 1;
        }
        let Some(mut survey) = survey else {
            let why = damage.pop().unwrap_or_else(|| "it is empty".to_owned());
            return Err(format!("nothing could be read of {name}: {why}"));
        };
        survey.damage.extend(damage);
        if survey.pids.len() > 1 {
            return Err(more_than_one_run(name));
        }
        survey.know_again(&before, name)?;
        survey.refuse_unknown(choice)?;
        Ok(survey)
    }

    fn begin(header: Header, profile: &Profile) -> Result<Self, Wrong> {
        Ok(Self {
            ticks: Ticks(header),
            by_day: Vec::new(),
            states: PRIVATE.map(str::to_owned).into(),
            chunks: BTreeMap::new(),
            damage: Vec::new(),
            pauses: Vec::new(),
            waits: Vec::new(),
            anchors: profile.meta.find("vouchAnchors")?.unwrap_or_default(),
            pids: BTreeSet::new(),
            names: BTreeSet::new(),
        })
    }

    fn chunk(
        &mut self,
        chunk: &Chunk,
        place: usize,
        zero_unix_ms: f64,
        choice: &Choice,
    ) -> Result<(), Wrong> {
        let (header, Ticks(first)) = (chunk.header, self.ticks);
        if header.ticks_per_second != first.ticks_per_second || header.start_ticks < first.start_ticks {
            return Err(more_than_one_run(&choice.recording));
        }
        let (unix_ns, bytes) = (header.start_unix_ns, chunk.bytes());
        // Files may be joined that have chunks in common, one of them as far as it had come.
        match self.chunks.insert(unix_ns, Seen { place, bytes, merged: HashSet::new() }) {
            Some(seen) if seen.bytes >= bytes => {
                self.chunks.insert(unix_ns, seen);
                return Ok(());
            }
            Some(_) => {}
            None => {
                let at = self.ticks.at(header.start_ticks);
                let add = number(unix_ns) - zero_unix_ms * 1e6 - at;
                if self.by_day.first().is_none_or(|(_, first)| (add - first).abs() < A_DAY) {
                    self.by_day.push((at, add));
                } else {
                    self.damage.push("a chunk is of another day than the first".to_owned());
                }
            }
        }
        let names: HashMap<i64, &str> = chunk.types().map(|kind| (kind.id, kind.name.as_str())).collect();
        let (mut met, mut is_agents) = (HashSet::new(), HashMap::new());
        for event in chunk.events().flatten() {
            if met.insert(event.kind.id) {
                self.names.insert(event.kind.name.clone());
            }
            self.event(chunk, &event, &names, &mut is_agents);
        }
        Ok(())
    }

    fn event(
        &mut self,
        chunk: &Chunk,
        event: &Event<'_>,
        names: &HashMap<i64, &str>,
        is_agents: &mut HashMap<i64, bool>,
    ) {
        let kind = event.kind;
        let told = ["jdk.GCPhasePause", "jdk.JavaMonitorWait", "jdk.JVMInformation", "jdk.ActiveSetting"];
        let Some(what) = told.iter().position(|name| *name == kind.name) else { return };
        let Ok(values) = event.values() else { return };
        let whole = |name| kind.whole(&values, name);
        let ticks = self.ticks;
        let moment = || {
            let began = ticks.at(whole("startTime")?);
            Some(Moment { began, ended: began + ticks.lasting(whole("duration").unwrap_or(0).max(0)) })
        };
        match what {
            0 => self.pauses.extend(moment()),
            1 => {
                let Some((value, index)) = constant(kind, &values, "eventThread") else { return };
                // Asked once for each thread of a chunk.
                let is_agents = is_agents.entry(index).or_insert_with(|| {
                    Thread::new(chunk, &value).is_some_and(|thread| self.anchors.are_of(&thread))
                });
                if *is_agents {
                    self.waits.extend(moment());
                }
            }
            2 => self.pids.extend(whole("pid")),
            _ => self.setting(chunk, kind, &values, whole("id").and_then(|id| names.get(&id))),
        }
    }

    /// A kind whose period is a chunk tells how things are, and nothing that happened.
    fn setting(&mut self, chunk: &Chunk, setting: &Type, values: &[Value], of: Option<&&str>) {
        let text = |name| names::field(&mut Words::new(chunk), setting, values, name).unwrap_or_default();
        if text("name") == "period"
            && ["everyChunk", "beginChunk", "endChunk"].contains(&text("value").as_str())
        {
            self.states.extend(of.map(|of| (*of).to_owned()));
        }
    }

    /// Chunks that are in the profile: what it has of them is not told again.
    fn know_again(&mut self, before: &HashMap<i64, (u64, HashSet<String>)>, name: &str) -> Result<(), Wrong> {
        for (unix_ns, seen) in &mut self.chunks {
            let Some((bytes, kinds)) = before.get(unix_ns) else { continue };
            if seen.bytes > *bytes {
                return Err(format!(
                    "of {name} a part is in the profile already, as far as it had been written: merge it into the profile as that was \
                     before"
                ));
            }
            seen.merged.clone_from(kinds);
        }
        Ok(())
    }

    /// A kind that was asked for and is not there is a slip of the pen.
    fn refuse_unknown(&self, choice: &Choice) -> Result<(), Wrong> {
        let is_met = |pattern: &&String| self.names.iter().any(|name| is_like(name, pattern));
        let Some(unknown) = choice.events.iter().find(|pattern| !is_met(pattern)) else { return Ok(()) };
        // The program's own first: those of the JDK are in every recording.
        let (jdk, mut names): (Vec<&str>, Vec<&str>) =
            self.names.iter().map(String::as_str).partition(|name| name.starts_with("jdk."));
        names.extend(jdk);
        let more = names.len().saturating_sub(TOLD);
        names.truncate(TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Err(format!("{} has no event {unknown}: it has {}{more}", choice.recording, names.join(", ")))
    }

    /// Kinds that there are, and that tell how things are.
    pub fn left_out(&self) -> Vec<String> {
        self.states.intersection(&self.names).cloned().collect()
    }

    /// The chunk that began then and has this place, if its events are to be read.
    pub fn seen(&self, unix_ns: i64, place: usize) -> Option<&Seen> {
        self.chunks.get(&unix_ns).filter(|seen| seen.place == place)
    }

    /// The process that made it, if it says so and is another one.
    pub fn stranger(&self, own_pid: &str) -> Option<String> {
        self.pids.first().map(ToString::to_string).filter(|pid| pid != own_pid)
    }

    /// How its clock and the profile's relate, and by how many pauses and waits it is known.
    pub fn relate(
        &mut self,
        profile: &Profile,
        range_ms: [f64; 2],
        is_strange: bool,
    ) -> Result<(Relation, [usize; 2]), Wrong> {
        let mut pauses = Moments { recorded: take(&mut self.pauses), ..Moments::default() };
        let mut waits = Moments::default();
        if !is_strange {
            // Another process may have a thread of the same number and name.
            waits.recorded = take(&mut self.waits);
            pauses.seen = seen_pauses(profile)?;
            let moment = |[began, ended]: [f64; 2]| Moment { began, ended };
            waits.seen = take(&mut self.anchors.ns).into_iter().map(moment).collect();
        }
        relate(&self.by_day, pauses, waits, range_ms.map(|ms| ms * 1e6))
            .ok_or_else(|| "the recording has no clock".to_owned())
    }

    /// True for what the agent's own thread did: it is no event of the program's.
    pub fn is_agents(&self, thread: &Thread) -> bool {
        self.anchors.are_of(thread)
    }
}

pub fn unreadable(name: &str, error: &io::Error) -> Wrong {
    match error.kind() {
        io::ErrorKind::NotSeekable => {
            format!("{name} cannot be read: it is no file (a pipe cannot be read twice)")
        }
        _ => format!("{name} cannot be read: {error}"),
    }
}

fn more_than_one_run(name: &str) -> Wrong {
    format!("{name} has chunks of more than one run: take them apart (jfr disassemble), and merge one")
}

/// The chunks that are in the profile already, by when they began: how long they were, and which
/// kinds of them are there.
fn merged_before(profile: &Profile) -> Result<HashMap<i64, (u64, HashSet<String>)>, Wrong> {
    let merged: Vec<Json> = profile.meta.find("vouchMerged")?.unwrap_or_default();
    let mut known: HashMap<i64, (u64, HashSet<String>)> = HashMap::new();
    for merged in &merged {
        let kinds = merged["kinds"].as_array().into_iter().flatten();
        let kinds: Vec<String> = kinds.filter_map(|kind| kind["name"].as_str().map(str::to_owned)).collect();
        for chunk in merged["chunks"].as_array().into_iter().flatten() {
            if let (Some(unix_ns), Some(bytes)) = (chunk[0].as_i64(), chunk[1].as_u64()) {
                let (known, all) = known.entry(unix_ns).or_default();
                *known = bytes.max(*known);
                all.extend(kinds.iter().cloned());
            }
        }
    }
    Ok(known)
}

/// When the agent's thread waited for JFR to tell of it. There is none where it never did.
#[derive(Debug, Default, serde::Deserialize)]
struct Anchors {
    tid: u64,
    ns: Vec<[f64; 2]>,
}

impl Anchors {
    fn are_of(&self, thread: &Thread) -> bool {
        self.tid != 0 && thread.tid == self.tid && thread.name == AGENT
    }
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
