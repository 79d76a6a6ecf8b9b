//! Finds the processes of all profiles, and their names and pids in the joined profile.
//!
//! Two processes with the same pid must stay separate: in containers most processes have the pid 1.
//! No time of a process may be counted twice.

use std::collections::{HashMap, HashSet};

use crate::error::Error;

use crate::join::clock::{Clock, shifted};
use crate::join::opened::{Identity, Opened, Process};

/// Two recordings of one process may overlap by this much, in milliseconds.
const MOMENT_MS: f64 = 1.0;

/// The name and pid of a process in the joined profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub pid: String,
    pub name: String,
}

/// The processes of all profiles.
#[derive(Default)]
pub struct Processes {
    names: Vec<Name>,
    known: Vec<Process>,
    /// The row of each process, by the index of its file and its pid there.
    rows: HashMap<(usize, String), usize>,
}

impl Processes {
    pub fn new(all: &[Opened], clock: &Clock) -> Result<Self, Error> {
        let mut processes = Self::default();
        let mut by_identity: HashMap<Identity, usize> = HashMap::new();
        let mut from: Vec<&str> = Vec::new();
        // This is when each process without an identity started. It is `None` for the other
        // processes.
        let mut begins: Vec<Option<f64>> = Vec::new();
        for (at, opened) in all.iter().enumerate() {
            for thread in &opened.threads {
                let in_file = |wrong: Error| wrong.in_file(&opened.file);
                let pid: String = thread.get("pid").map_err(in_file)?;
                if processes.rows.contains_key(&(at, pid.clone())) {
                    continue;
                }
                let name: String = thread.get("processName").map_err(in_file)?;
                let process = opened.processes.iter().find(|process| process.pid == pid);
                let identity = process.and_then(|process| process.identity.clone());
                let shift_ms = clock.shift_ms(opened);
                let spans = process.map_or(&[][..], |process| &process.spans);
                let spans = spans.iter().map(|span| span.map(|time| shifted(time, shift_ms)));
                let spans: Vec<[f64; 2]> = spans.collect();
                let known = identity.as_ref().and_then(|identity| by_identity.get(identity)).copied();
                // Profiles of an older Vouch have no identity. Two recordings that begin at the
                // same moment are the same one.
                let startup = shifted(thread.get("processStartupTime").map_err(in_file)?, shift_ms);
                let begun = (identity.is_none() && !spans.is_empty()).then_some(startup);
                let is_same = |other: &Option<f64>| {
                    other.zip(begun).is_some_and(|(other, begun)| (other - begun).abs() < MOMENT_MS)
                };
                let alike = begins.iter().position(is_same);
                if let Some(row) = known.or(alike) {
                    let before = &processes.known[row].spans;
                    let overlaps =
                        |one: &[f64; 2]| spans.iter().any(|other| is_overlapping(*one, *other, MOMENT_MS));
                    if before.iter().any(overlaps) {
                        return Err(Error::CountedTwice {
                            file: opened.file.clone(),
                            other: from[row].to_owned(),
                            pid,
                        });
                    }
                }
                let row = if let Some(row) = known {
                    let before = &mut processes.known[row].spans;
                    let end = before.iter().map(|span| span[1]).fold(f64::NEG_INFINITY, f64::max);
                    if spans.iter().any(|span| span[0] + MOMENT_MS < end) {
                        return Err(Error::BetweenTwoTimes { file: opened.file.clone(), pid });
                    }
                    before.extend(spans);
                    row
                } else {
                    let row = processes.known.len();
                    from.push(&opened.file);
                    begins.push(begun);
                    by_identity.extend(identity.clone().map(|identity| (identity, row)));
                    let unique = processes.unique(&pid);
                    processes.names.push(Name { pid: unique.clone(), name });
                    processes.known.push(Process { pid: unique, identity, spans });
                    row
                };
                processes.rows.insert((at, pid), row);
            }
        }
        processes.make_names_unique(&from);
        Ok(processes)
    }

    /// Returns an unused pid. The front-end shows tracks with one pid as one process.
    fn unique(&self, pid: &str) -> String {
        let taken = |pid: &str| self.names.iter().any(|name| name.pid == pid);
        let others = (2..).map(|number| format!("{pid} ({number})"));
        let mut all = std::iter::once(pid.to_owned()).chain(others);
        all.find(|pid| !taken(pid)).unwrap_or_default()
    }

    /// Adds the first file of a process to its name, if several processes have that name.
    fn make_names_unique(&mut self, from: &[&str]) {
        let mut seen = HashSet::new();
        let twice: HashSet<String> =
            self.names.iter().filter(|name| !seen.insert(&name.name)).map(|name| name.name.clone()).collect();
        for (name, file) in self.names.iter_mut().zip(from) {
            if twice.contains(&name.name) && !name.name.contains(file) {
                name.name = format!("{} ({file})", name.name);
            }
        }
    }

    /// Returns the name of a file's process.
    pub fn name(&self, file: usize, pid: &str) -> Option<&Name> {
        self.rows.get(&(file, pid.to_owned())).map(|row| &self.names[*row])
    }

    /// Returns the processes to be written to the joined profile's `meta`. They allow joining that
    /// profile again.
    pub fn known(&self) -> &[Process] {
        &self.known
    }

    /// Returns the names and pids of all processes as text.
    pub fn all(&self) -> Vec<String> {
        self.names.iter().map(|Name { pid, name }| format!("{name}, process {pid}")).collect()
    }
}

/// True if two spans of time overlap by more than `moment_ms`.
pub fn is_overlapping(one: [f64; 2], other: [f64; 2], moment_ms: f64) -> bool {
    one[1].min(other[1]) - one[0].max(other[0]) > moment_ms
}
