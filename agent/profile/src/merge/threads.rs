//! Which track is an event's thread? By the kernel's number and the name; a thread that the profile
//! has not gets a track.
//!
//! An event must never stand in another thread's track: numbers are given again, so that a number
//! alone is believed only of a thread that lived then.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value as Json, json};

use crate::document::{Part, Wrong};
use crate::merge::names::Thread;
use crate::merge::profile::{Profile, no_markers};

/// Tracks of threads that the profile has not, at most; the rest shares one.
const NEW: usize = 100;
/// How the number of such a track begins.
const OWN_TID: &str = "jfr-";
/// Behind it stands the kernel's number, by which its thread is known again.
const OF_KERNEL: char = '/';
const VIRTUAL: &str = "virtual threads (JFR)";
const PROCESS: &str = "process (JFR)";
const OTHERS: &str = "other threads (JFR)";

/// A thread's life and names in the profile.
struct Track {
    row: usize,
    name: Rc<str>,
    began_ms: f64,
    ended_ms: f64,
}

/// The track of an event.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    pub row: usize,
    /// It has the events of many threads.
    pub shared: bool,
}

/// Finds tracks, and adds those that there are not.
pub struct Tracks {
    by_tid: HashMap<u64, Vec<Track>>,
    /// By the kernel's number, or 0, and the name.
    new: HashMap<(u64, String), usize>,
    /// The recording's process is not the profile's.
    stranger: Option<String>,
}

impl Tracks {
    /// `stranger` is the process of the recording, if it is another one.
    pub fn of(profile: &Profile, stranger: Option<String>) -> Result<Self, Wrong> {
        let mut tracks = Self { by_tid: HashMap::new(), new: HashMap::new(), stranger };
        let stranger = tracks.stranger.as_ref().map(|pid| stranger_pid(pid));
        for (row, thread) in profile.threads.iter().enumerate() {
            // Of a recording that was merged before.
            let own_tid: Option<String> = thread.find("tid").ok().flatten();
            if let Some(tid) = own_tid.as_deref().and_then(|tid| tid.strip_prefix(OWN_TID)) {
                let pid: String = thread.get("pid")?;
                if stranger.as_ref().is_none_or(|stranger| *stranger == pid) {
                    let tid = tid.split_once(OF_KERNEL).and_then(|(_, tid)| tid.parse().ok()).unwrap_or(0);
                    tracks.new.insert((tid, thread.get("name")?), row);
                }
                continue;
            }
            if stranger.is_some() {
                continue;
            }
            let name: Rc<str> = thread.get::<String>("name")?.into();
            // 0 is no thread's: rows have it that threads share, and JFR gives it to those that the
            // kernel does not know.
            for (tid, began_ms, ended_ms) in lives(thread)?.into_iter().filter(|(tid, ..)| *tid != 0) {
                let (name, ended_ms) = (name.clone(), ended_ms.unwrap_or(f64::INFINITY));
                tracks.by_tid.entry(tid).or_default().push(Track { row, name, began_ms, ended_ms });
            }
        }
        for tracks in tracks.by_tid.values_mut() {
            tracks.sort_by(|one, other| one.began_ms.total_cmp(&other.began_ms));
        }
        Ok(tracks)
    }

    /// The row of the track of a thread at a time.
    pub fn find(&mut self, profile: &mut Profile, thread: &Thread, at_ms: f64) -> Result<Found, Wrong> {
        let of_tid = self.by_tid.get(&thread.tid).map_or(&[][..], |tracks| around(tracks, at_ms));
        let far = |track: &Track| (track.began_ms - at_ms).max(at_ms - track.ended_ms).max(0.0);
        let nearest = |tracks: &mut dyn Iterator<Item = &Track>| {
            tracks.min_by(|one, other| far(one).total_cmp(&far(other))).map(|track| track.row)
        };
        // JFR may tell of a thread before it is there. One may have got another name, or share its
        // track with others.
        let found = nearest(&mut of_tid.iter().filter(|track| *track.name == *thread.name))
            .or_else(|| nearest(&mut of_tid.iter().filter(|track| far(track) <= 0.0)));
        match found {
            Some(row) => Ok(Found { row, shared: false }),
            None if thread.is_virtual => self.add(profile, 0, VIRTUAL),
            None => self.add(profile, thread.tid, &thread.name),
        }
    }

    /// The row of the track for what is of all the process.
    pub fn of_all(&mut self, profile: &mut Profile) -> Result<usize, Wrong> {
        if self.stranger.is_some() { Ok(self.add(profile, 0, PROCESS)?.row) } else { Ok(0) }
    }

    /// The row of the track for threads that the recording does not name.
    pub fn of_somebody(&mut self, profile: &mut Profile) -> Result<usize, Wrong> {
        Ok(self.add(profile, 0, OTHERS)?.row)
    }

    /// Of one name there may be many threads: each has a track of its own, as long as there is
    /// room.
    fn add(&mut self, profile: &mut Profile, tid: u64, name: &str) -> Result<Found, Wrong> {
        let own = (tid, name.to_owned());
        let shared = [VIRTUAL, OTHERS].contains(&name);
        if let Some(row) = self.new.get(&own) {
            return Ok(Found { row: *row, shared });
        }
        if self.new.len() >= NEW && ![VIRTUAL, PROCESS, OTHERS].contains(&name) {
            return self.add(profile, 0, OTHERS);
        }
        let row = profile.threads.len();
        let track = self.track(&profile.threads[0], name, &format!("{OWN_TID}{row}{OF_KERNEL}{tid}"))?;
        profile.threads.push(track);
        self.new.insert(own, row);
        Ok(Found { row, shared })
    }

    /// As the first thread's is, and without what is that thread's own.
    fn track(&self, first: &Part, name: &str, tid: &str) -> Result<Part, Wrong> {
        let mut track: Map<String, Json> = Map::new();
        for key in ["processType", "processName", "processStartupTime", "processShutdownTime", "pid"] {
            if let Some(value) = first.find(key)? {
                track.insert(key.to_owned(), value);
            }
        }
        if let Some(pid) = &self.stranger {
            track.insert("pid".to_owned(), stranger_pid(pid).into());
            track.insert("processName".to_owned(), format!("process {pid} (JFR)").into());
        }
        let samples: Part = first.get("samples")?;
        let empty: Map<String, Json> = samples
            .keys()
            .map(|key| {
                let value = match key {
                    "length" => 0.into(),
                    "weightType" => samples.get(key)?,
                    _ => json!([]),
                };
                Ok((key.to_owned(), value))
            })
            .collect::<Result<_, Wrong>>()?;
        let own = json!({
            "name": name, "tid": tid, "isMainThread": false, "showMarkersInTimeline": true,
            "registerTime": first.get::<f64>("processStartupTime")?, "unregisterTime": null, "pausedRanges": [],
            "samples": empty, "markers": no_markers(),
        });
        let Json::Object(own) = own else { return Err("no track".to_owned()) };
        track.extend(own);
        Part::from_value(&track)
    }
}

/// The tracks that began shortly before or after a time: a number is given again and again, and a
/// thread renamed as often.
fn around(tracks: &[Track], at_ms: f64) -> &[Track] {
    const BEFORE: usize = 16;
    const AFTER: usize = 2;
    let next = tracks.partition_point(|track| track.began_ms <= at_ms);
    &tracks[next.saturating_sub(BEFORE)..(next + AFTER).min(tracks.len())]
}

/// The front-end tells processes by it.
fn stranger_pid(pid: &str) -> String {
    format!("{pid} (JFR)")
}

/// The threads of a track: their numbers, when they began, and when they ended.
type Life = (u64, f64, Option<f64>);

/// `1234`, or `"1234.2"` of one that was renamed, or all of many.
fn lives(track: &Part) -> Result<Vec<Life>, Wrong> {
    if let Some(many) = track.find("vouchTids")? {
        return Ok(many);
    }
    let tid = match track.get("tid")? {
        Json::Number(tid) => tid.as_u64(),
        Json::String(tid) => tid.split('.').next().and_then(|tid| tid.parse().ok()),
        _ => None,
    };
    let Some(tid) = tid else { return Ok(Vec::new()) };
    Ok(vec![(tid, track.get("registerTime")?, track.get("unregisterTime")?)])
}
