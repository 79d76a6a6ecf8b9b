//! Opens a profile that is to be joined with others: its parts, its clock, and its processes.
//!
//! Profiles of other tools, and of a Vouch with different tables, must be refused.

use crate::document::Part;
use crate::error::Error;
use serde::{Deserialize, Serialize};

/// A profile and the name of its file.
#[derive(Debug)]
pub struct Source {
    pub file: String,
    pub document: Part,
}

/// A profile that was divided into its parts.
#[derive(Debug)]
pub struct Opened {
    pub file: String,
    pub meta: Part,
    pub shared: Part,
    pub threads: Vec<Part>,
    pub counters: Vec<Part>,
    pub processes: Vec<Process>,
    /// The epoch time at which the profile's clock was 0.
    pub start_ms: f64,
    /// The start and end of the recording, on the profile's clock.
    pub span_ms: [f64; 2],
    pub interval_ms: f64,
    version: u32,
    pub categories: Vec<serde_json::Value>,
}

/// A process of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// The pid that the profile's threads have.
    pub pid: String,
    pub identity: Option<Identity>,
    /// The start and end of each recording of the process.
    pub spans: Vec<[f64; 2]>,
}

/// Identifies a process: two processes are the same if all fields are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    pub boot: String,
    namespace: u64,
    pid: u32,
    started_ticks: u64,
}

impl Opened {
    pub fn open(Source { file, document }: Source) -> Result<Self, Error> {
        let opened = Self::take(&file, document);
        opened.map_err(|wrong| wrong.in_file(&file))
    }

    fn take(file: &str, mut document: Part) -> Result<Self, Error> {
        let meta: Part = document.take("meta")?;
        let threads: Vec<Part> = document.take("threads")?;
        let start_ms = meta.get("startTime")?;
        let span_ms = [meta.get("profilingStartTime")?, meta.get("profilingEndTime")?];
        // The first track belongs to the profiled process. Tracks from a Flight Recorder file of
        // another process come later.
        let own = || {
            let first = threads.first().ok_or(Error::NoTrack)?;
            let (pid, identity) = (first.get("pid")?, meta.find("vouchProcess")?);
            Ok::<_, Error>(vec![Process { pid, identity, spans: vec![span_ms] }])
        };
        let processes = meta.find("vouchProcesses")?.map_or_else(own, Ok)?;
        Ok(Self {
            file: file.to_owned(),
            shared: document.take("shared")?,
            counters: document.find("counters")?.unwrap_or_default(),
            interval_ms: meta.get("interval")?,
            version: meta.get("preprocessedProfileVersion")?,
            categories: meta.get("categories")?,
            meta,
            threads,
            processes,
            start_ms,
            span_ms,
        })
    }

    /// Returns the id of the boot from which the profile's clock counts. Returns `None` if it is
    /// unknown for a process, or differs between processes.
    pub fn boot(&self) -> Option<&str> {
        let recorded = self.processes.iter().filter(|process| !process.spans.is_empty());
        let mut boots = recorded.map(|process| Some(&*process.identity.as_ref()?.boot));
        let first = boots.next()??;
        boots.all(|boot| boot == Some(first)).then_some(first)
    }

    /// Returns an error if the profile's tables have another version.
    pub fn must_be_like(&self, other: &Self) -> Result<(), Error> {
        if self.version == other.version {
            return Ok(());
        }
        Err(Error::OtherTables { file: self.file.clone(), other: other.file.clone() })
    }

    /// Returns the profile's interval as a multiple of `interval_ms`.
    pub fn intervals(&self, interval_ms: f64) -> u64 {
        whole(self.interval_ms / interval_ms).unwrap_or(1)
    }
}

/// Returns the shortest sampling interval of all profiles. All other intervals must be multiples of
/// it.
pub fn common_interval(all: &[Opened]) -> Result<f64, Error> {
    let shortest = all.iter().min_by(|one, other| one.interval_ms.total_cmp(&other.interval_ms));
    let shortest = shortest.ok_or(Error::NothingToJoin)?;
    let counts = |other: &&Opened| whole(other.interval_ms / shortest.interval_ms).is_none();
    match all.iter().find(counts) {
        None => Ok(shortest.interval_ms),
        Some(other) => Err(Error::Intervals {
            shortest: (shortest.file.clone(), shortest.interval_ms),
            other: (other.file.clone(), other.interval_ms),
        }),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole number that fits")]
fn whole(number: f64) -> Option<u64> {
    let rounded = number.round();
    ((1.0..1e9).contains(&rounded) && (number - rounded).abs() < 1e-6).then_some(rounded as u64)
}
