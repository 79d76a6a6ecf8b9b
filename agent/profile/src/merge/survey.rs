//! Surveys a recording before its events are read: its chunks, its clock, its process, and the
//! kinds that describe a state.
//!
//! It reads the whole file, but only the kind of most events. It must not keep events.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Seek};
use std::mem::take;

use serde_json::Value as Json;
use vouch_jfr::{Chunk, Event, Header, Reader, Type, Value};

use crate::document::Part;
use crate::error::Error;
use crate::merge::anchors::{A_DAY, Moment, Moments, relate};
use crate::merge::choice::{Choice, is_like};
use crate::merge::clock::Relation;
use crate::merge::names::{self, Thread, Words, constant};
use crate::merge::profile::Profile;
use crate::merge::show::{Ticks, number};

/// The kinds with events that may contain passwords. They are added only if the user names them.
const PRIVATE: [&str; 4] = [
    "jdk.InitialEnvironmentVariable",
    "jdk.InitialSystemProperty",
    "jdk.InitialSecurityProperty",
    "jdk.SystemProcess",
];
/// The name of the agent's own thread.
const AGENT: &str = "Vouch";
/// The error for an unknown kind lists at most this many event kinds.
const MAX_SUGGESTIONS: usize = 12;

/// A readable chunk of the recording.
#[derive(Debug)]
pub struct Seen {
    /// The chunk's index among the readable chunks of the file.
    index: usize,
    pub bytes: u64,
    /// The kinds that the profile has from this chunk already.
    pub merged: HashSet<String>,
}

/// The results of surveying a recording.
#[derive(Debug)]
pub struct Survey {
    /// The clock of the first chunk, which counts ticks.
    pub ticks: Ticks,
    /// The differences between the recording's clock and the profile's, by the time of day. Each
    /// pair is a time of the recording's clock, and the nanoseconds to add to it.
    pub by_day: Vec<(f64, f64)>,
    /// The kinds that describe a state, which is recorded once in each chunk.
    pub states: BTreeSet<String>,
    /// All readable chunks, by their start.
    pub chunks: BTreeMap<i64, Seen>,
    pub damage: Vec<String>,
    pauses: Vec<Moment>,
    waits: Vec<Moment>,
    /// The waits of the agent's own thread, as the profile has them.
    anchors: Anchors,
    pids: BTreeSet<i64>,
    /// The names of all kinds that have events.
    names: BTreeSet<String>,
}

impl Survey {
    pub fn new<F: Read + Seek>(
        reader: &mut Reader<F>,
        profile: &Profile,
        choice: &Choice,
    ) -> Result<Self, Error> {
        let name = &choice.recording;
        let zero_unix_ms: f64 = profile.meta.get("startTime")?;
        let before = merged_before(profile)?;
        let (mut survey, mut damage, mut index) = (None::<Self>, Vec::new(), 0);
        while let Some(chunk) = reader.next_chunk().map_err(|why| unreadable(name, why))? {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(wrong) => {
                    damage.push(wrong.to_string());
                    continue;
                }
            };
            let survey = match &mut survey {
                Some(survey) => survey,
                None => survey.insert(Self::begin(chunk.header, profile)?),
            };
            survey.chunk(&chunk, index, zero_unix_ms, choice)?;
            index += 1;
        }
        let Some(mut survey) = survey else {
            return Err(Error::NothingReadable { recording: name.clone(), damage: damage.pop() });
        };
        survey.damage.extend(damage);
        if survey.pids.len() > 1 {
            return Err(Error::SeveralRuns(name.clone()));
        }
        survey.mark_merged(&before, name)?;
        survey.refuse_unknown(choice)?;
        Ok(survey)
    }

    fn begin(header: Header, profile: &Profile) -> Result<Self, Error> {
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
        index: usize,
        zero_unix_ms: f64,
        choice: &Choice,
    ) -> Result<(), Error> {
        let (header, Ticks(first)) = (chunk.header, self.ticks);
        if header.ticks_per_second != first.ticks_per_second || header.start_ticks < first.start_ticks {
            return Err(Error::SeveralRuns(choice.recording.clone()));
        }
        let (unix_ns, bytes) = (header.start_unix_ns, chunk.bytes());
        // Concatenated files may contain a chunk twice, once incomplete.
        match self.chunks.insert(unix_ns, Seen { index, bytes, merged: HashSet::new() }) {
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
        let (mut seen, mut is_agents) = (HashSet::new(), HashMap::new());
        for event in chunk.events().flatten() {
            if seen.insert(event.kind.id) {
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
        let read = ["jdk.GCPhasePause", "jdk.JavaMonitorWait", "jdk.JVMInformation", "jdk.ActiveSetting"];
        let Some(what) = read.iter().position(|name| *name == kind.name) else { return };
        let Ok(values) = event.values() else { return };
        let whole = |name| kind.integer_field(&values, name);
        let ticks = self.ticks;
        let moment = || {
            let began = ticks.at(whole("startTime")?);
            Some(Moment { began, ended: began + ticks.lasting(whole("duration").unwrap_or(0).max(0)) })
        };
        match what {
            0 => self.pauses.extend(moment()),
            1 => {
                let Some((value, index)) = constant(kind, &values, "eventThread") else { return };
                // The result is cached for each thread of a chunk.
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

    /// Reads a setting. A kind that is recorded once in each chunk describes a state and no event.
    fn setting(&mut self, chunk: &Chunk, setting: &Type, values: &[Value], of: Option<&&str>) {
        let text = |name| names::field(&mut Words::new(chunk), setting, values, name).unwrap_or_default();
        if text("name") == "period"
            && ["everyChunk", "beginChunk", "endChunk"].contains(&text("value").as_str())
        {
            self.states.extend(of.map(|of| (*of).to_owned()));
        }
    }

    /// Marks the kinds that the profile has already, so that they are not added again.
    fn mark_merged(
        &mut self,
        before: &HashMap<i64, (u64, HashSet<String>)>,
        name: &str,
    ) -> Result<(), Error> {
        for (unix_ns, seen) in &mut self.chunks {
            let Some((bytes, kinds)) = before.get(unix_ns) else { continue };
            if seen.bytes > *bytes {
                return Err(Error::PartMerged(name.to_owned()));
            }
            seen.merged.clone_from(kinds);
        }
        Ok(())
    }

    /// Returns an error for a requested kind without events, since it is probably misspelt.
    fn refuse_unknown(&self, choice: &Choice) -> Result<(), Error> {
        let is_met = |pattern: &&String| self.names.iter().any(|name| is_like(name, pattern));
        let Some(unknown) = choice.events.iter().find(|pattern| !is_met(pattern)) else { return Ok(()) };
        // The program's kinds come first. Those of the JDK are in every recording.
        let (jdk, mut names): (Vec<&str>, Vec<&str>) =
            self.names.iter().map(String::as_str).partition(|name| name.starts_with("jdk."));
        names.extend(jdk);
        let more = names.len().saturating_sub(MAX_SUGGESTIONS);
        names.truncate(MAX_SUGGESTIONS);
        Err(Error::UnknownEvent {
            recording: choice.recording.clone(),
            unknown: unknown.clone(),
            known: names.into_iter().map(str::to_owned).collect(),
            more,
        })
    }

    /// Returns the kinds with events that describe a state.
    pub fn left_out(&self) -> Vec<String> {
        self.states.intersection(&self.names).cloned().collect()
    }

    /// Returns the chunk with this start and index, or `None` if its events are not to be read.
    pub fn seen(&self, unix_ns: i64, index: usize) -> Option<&Seen> {
        self.chunks.get(&unix_ns).filter(|seen| seen.index == index)
    }

    /// Returns the pid of the recording's process, if it is not `own_pid`.
    pub fn stranger(&self, own_pid: &str) -> Option<String> {
        self.pids.first().map(ToString::to_string).filter(|pid| pid != own_pid)
    }

    /// Relates the recording's clock to the profile's. The second part is the number of pauses and
    /// waits by which the relation is known.
    pub fn relate(
        &mut self,
        profile: &Profile,
        range_ms: [f64; 2],
        is_strange: bool,
    ) -> Result<(Relation, [usize; 2]), Error> {
        let mut pauses = Moments { recorded: take(&mut self.pauses), ..Moments::default() };
        let mut waits = Moments::default();
        if !is_strange {
            // A thread of another process may have the same id and name, so its waits are not used.
            waits.recorded = take(&mut self.waits);
            pauses.seen = seen_pauses(profile)?;
            let moment = |[began, ended]: [f64; 2]| Moment { began, ended };
            waits.seen = take(&mut self.anchors.ns).into_iter().map(moment).collect();
        }
        relate(&self.by_day, pauses, waits, range_ms.map(|ms| ms * 1e6)).ok_or(Error::NoClock)
    }

    /// True for the agent's own thread. Its events are not the program's.
    pub fn is_agents(&self, thread: &Thread) -> bool {
        self.anchors.are_of(thread)
    }
}

pub fn unreadable(recording: &str, why: io::Error) -> Error {
    Error::Unreadable { recording: recording.to_owned(), why }
}

/// Returns the chunks that were added to the profile before. Each is found by its start, and has
/// its length and kinds.
fn merged_before(profile: &Profile) -> Result<HashMap<i64, (u64, HashSet<String>)>, Error> {
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

/// The waits of the agent's own thread, which JFR also records. It is empty if there were none.
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

/// Returns the collector pauses that JVMTI reported.
fn seen_pauses(profile: &Profile) -> Result<Vec<Moment>, Error> {
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
