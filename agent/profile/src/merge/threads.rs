//! Finds the track of an event's thread, by the kernel's thread id and the name. A thread that the
//! profile lacks gets a new track.
//!
//! An event must never be in another thread's track. The kernel reuses ids, so an id alone decides
//! only for a thread that lived at that time.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value as Json, json};

use crate::document::Part;
use crate::error::Error;
use crate::merge::names::Thread;
use crate::merge::profile::{Profile, no_markers};

/// The limit for new tracks. All further threads share one track.
const MAX_NEW_TRACKS: usize = 100;
/// The beginning of a new track's id.
const NEW_TID_PREFIX: &str = "jfr-";
/// The character before the kernel's thread id in a new track's id.
const BEFORE_KERNEL_TID: char = '/';
const VIRTUAL: &str = "virtual threads (JFR)";
const PROCESS: &str = "process (JFR)";
const OTHERS: &str = "other threads (JFR)";

/// A thread of the profile under one name, and the time for which it lived.
struct Track {
    row: usize,
    name: Rc<str>,
    began_ms: f64,
    ended_ms: f64,
}

/// The track that was found for an event.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    pub row: usize,
    /// True if the track has the events of several threads.
    pub shared: bool,
}

/// Finds the tracks of threads, and adds the missing tracks.
pub struct Tracks {
    by_tid: HashMap<u64, Vec<Track>>,
    /// The new tracks, by the kernel's thread id and the name. The id is 0 for a track that is not
    /// for a single thread, or for a thread without a kernel thread.
    new: HashMap<(u64, String), usize>,
    /// The pid of the recording's process, if it is not the profile's.
    stranger: Option<String>,
}

impl Tracks {
    /// Reads the profile's tracks. `stranger` is the pid of the recording's process, if it is
    /// another one.
    pub fn new(profile: &Profile, stranger: Option<String>) -> Result<Self, Error> {
        let mut tracks = Self { by_tid: HashMap::new(), new: HashMap::new(), stranger };
        let stranger = tracks.stranger.as_ref().map(|pid| stranger_pid(pid));
        for (row, thread) in profile.threads.iter().enumerate() {
            // This is the id of a track that came from a recording that was added before.
            let own_tid: Option<String> = thread.find("tid").ok().flatten();
            if let Some(tid) = own_tid.as_deref().and_then(|tid| tid.strip_prefix(NEW_TID_PREFIX)) {
                let pid: String = thread.get("pid")?;
                if stranger.as_ref().is_none_or(|stranger| *stranger == pid) {
                    let tid =
                        tid.split_once(BEFORE_KERNEL_TID).and_then(|(_, tid)| tid.parse().ok()).unwrap_or(0);
                    tracks.new.insert((tid, thread.get("name")?), row);
                }
                continue;
            }
            if stranger.is_some() {
                continue;
            }
            let name: Rc<str> = thread.get::<String>("name")?.into();
            // The id 0 identifies no thread. Shared tracks have it, and so have JFR's threads
            // without a kernel thread.
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

    /// Returns the track of a thread at a time.
    pub fn find(&mut self, profile: &mut Profile, thread: &Thread, at_ms: f64) -> Result<Found, Error> {
        let of_tid = self.by_tid.get(&thread.tid).map_or(&[][..], |tracks| around(tracks, at_ms));
        let far = |track: &Track| (track.began_ms - at_ms).max(at_ms - track.ended_ms).max(0.0);
        let nearest = |tracks: &mut dyn Iterator<Item = &Track>| {
            tracks.min_by(|one, other| far(one).total_cmp(&far(other))).map(|track| track.row)
        };
        // JFR may have events of a thread before Vouch saw it. A thread may also have been renamed,
        // or share its track with others.
        let found = nearest(&mut of_tid.iter().filter(|track| *track.name == *thread.name))
            .or_else(|| nearest(&mut of_tid.iter().filter(|track| far(track) <= 0.0)));
        match found {
            Some(row) => Ok(Found { row, shared: false }),
            None if thread.is_virtual => self.add(profile, 0, VIRTUAL),
            None => self.add(profile, thread.tid, &thread.name),
        }
    }

    /// Returns the track for events of the whole process.
    pub fn of_all(&mut self, profile: &mut Profile) -> Result<usize, Error> {
        if self.stranger.is_some() { Ok(self.add(profile, 0, PROCESS)?.row) } else { Ok(0) }
    }

    /// Returns the track for threads that the recording does not name.
    pub fn of_somebody(&mut self, profile: &mut Profile) -> Result<usize, Error> {
        Ok(self.add(profile, 0, OTHERS)?.row)
    }

    /// Adds a track. Threads with the same name have separate tracks, up to [`MAX_NEW_TRACKS`].
    fn add(&mut self, profile: &mut Profile, tid: u64, name: &str) -> Result<Found, Error> {
        let own = (tid, name.to_owned());
        let shared = [VIRTUAL, OTHERS].contains(&name);
        if let Some(row) = self.new.get(&own) {
            return Ok(Found { row: *row, shared });
        }
        if self.new.len() >= MAX_NEW_TRACKS && ![VIRTUAL, PROCESS, OTHERS].contains(&name) {
            return self.add(profile, 0, OTHERS);
        }
        let row = profile.threads.len();
        let track =
            self.track(&profile.threads[0], name, &format!("{NEW_TID_PREFIX}{row}{BEFORE_KERNEL_TID}{tid}"))?;
        profile.threads.push(track);
        self.new.insert(own, row);
        Ok(Found { row, shared })
    }

    /// Returns a new empty track for the process of the first track.
    fn track(&self, first: &Part, name: &str, tid: &str) -> Result<Part, Error> {
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
            .collect::<Result<_, Error>>()?;
        let own = json!({
            "name": name, "tid": tid, "isMainThread": false, "showMarkersInTimeline": true,
            "registerTime": first.get::<f64>("processStartupTime")?, "unregisterTime": null, "pausedRanges": [],
            "samples": empty, "markers": no_markers(),
        });
        let Json::Object(own) = own else { return Err(Error::NotATrack) };
        track.extend(own);
        Part::from_value(&track)
    }
}

/// Returns the tracks that began shortly before or after a time. One id may have many tracks,
/// because ids are reused and threads renamed.
fn around(tracks: &[Track], at_ms: f64) -> &[Track] {
    const BEFORE: usize = 16;
    const AFTER: usize = 2;
    let next = tracks.partition_point(|track| track.began_ms <= at_ms);
    &tracks[next.saturating_sub(BEFORE)..(next + AFTER).min(tracks.len())]
}

/// Returns the pid under which the front-end shows the recording's process.
fn stranger_pid(pid: &str) -> String {
    format!("{pid} (JFR)")
}

/// A thread's id, its start, and its end.
type Life = (u64, f64, Option<f64>);

/// Returns the threads of a track. The track's id is a number, or a text such as `1234.2` after a
/// thread was renamed. A shared track has a list of threads.
fn lives(track: &Part) -> Result<Vec<Life>, Error> {
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
