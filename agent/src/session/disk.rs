//! The recording on disk while it runs, so that it outlives a JVM that is killed: `vouch recover` makes the profile of it.
//!
//! It must never cost the program its run, or the user the profile at its end: what cannot be written is said once, and tried again.

use std::io;
use std::path::{Path, PathBuf};

use vouch_log::{Beside, State, Writer};
use vouch_recording::Recording;

use crate::options::OnDisk;
use crate::plan::Plan;
use crate::say::say;

/// The state of the run is written after a tenth of its time, but within these.
const SOONEST_NS: u64 = 1_000_000_000;
const LATEST_NS: u64 = 10_000_000_000;

/// The file, as long as there is one.
#[derive(Debug)]
pub struct Disk {
    writer: Option<Writer>,
    begun_ns: u64,
    state_due_ns: u64,
    /// So many samples the JVM itself had contradicted.
    contradicted: u64,
    /// It was said that it cannot be written.
    failing: bool,
    /// What was before is in it no more.
    since_ns: Option<u64>,
}

impl Disk {
    /// Creates the file beside the first profile.
    pub fn begin(plan: &Plan, now_ns: u64) -> Self {
        let mut writer = None;
        if let (Some(stem), true) = (stem(plan), plan.options.on_disk != OnDisk::Off) {
            match Writer::create(&stem, plan.options.most_on_disk) {
                Ok((created, beside)) => {
                    writer = Some(created);
                    if !plan.options.quiet {
                        tell(&beside);
                    }
                }
                Err(error) => say(&format!(
                    "recording: there is none of this run, so nothing is left if the JVM is killed: {}.vouch cannot be created: {error}",
                    stem.display()
                )),
            }
        }
        Self {
            writer,
            begun_ns: now_ns,
            state_due_ns: now_ns,
            contradicted: 0,
            failing: false,
            since_ns: None,
        }
    }

    /// True if the state of the run is to be written: what the JVM contradicts is told with the samples that it contradicts.
    pub fn wants_state(&mut self, now_ns: u64, contradicted: u64) -> bool {
        let is_due = now_ns >= self.state_due_ns || contradicted != self.contradicted;
        self.contradicted = contradicted;
        self.writer.as_ref().is_some_and(|writer| is_due || writer.is_full())
    }

    /// From when on it tells, if not from the beginning.
    pub fn since_ns(&self) -> Option<u64> {
        self.since_ns
    }

    /// Writes what has come since.
    pub fn keep_up(&mut self, recording: &mut Recording, now_ns: u64, state: Option<&State>) {
        let Some(writer) = &mut self.writer else { return };
        let place = writer.path().display().to_string();
        if state.is_some() && !writer.is_there() {
            say(&format!("recording: {place} is gone, so nothing of this run is left if the JVM is killed"));
            self.writer = None;
            return;
        }
        match append(writer, recording, now_ns, state) {
            Ok(Kept::Here) => {}
            Ok(Kept::Since(since_ns)) => self.since_ns = Some(since_ns),
            Ok(Kept::NoRoom) => {
                say(&format!(
                    "recording: {place} ends here: its limit is too small for what it is about (recording-limit=)"
                ));
                self.writer = None;
                return;
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    say(&format!(
                        "recording: {place} cannot be written: {error}; it is tried again, and the profile is not touched by this"
                    ));
                }
                return;
            }
        }
        if std::mem::take(&mut self.failing) {
            say(&format!("recording: {place} goes on, and lacks nothing"));
        }
        if state.is_some() {
            self.state_due_ns = now_ns + ((now_ns - self.begun_ns) / 10).clamp(SOONEST_NS, LATEST_NS);
        }
    }

    /// The profile was written, or not: the file is in nobody's way, or all that there is.
    pub fn end(self, plan: &Plan, written: bool) {
        let Some(writer) = self.writer else { return };
        let place = writer.path().display().to_string();
        if !written {
            say(&format!("what was recorded is in {place}: `vouch recover {place}` makes the profile of it"));
        } else if plan.options.on_disk == OnDisk::On
            && let Err(error) = writer.remove()
        {
            say(&format!("recording: {place} is needed no more, and could not be removed: {error}"));
        }
    }
}

enum Kept {
    Here,
    Since(u64),
    NoRoom,
}

fn append(
    writer: &mut Writer,
    recording: &mut Recording,
    now_ns: u64,
    state: Option<&State>,
) -> io::Result<Kept> {
    match state {
        Some(state) if writer.is_full() => {
            let since = writer.start_over(recording, now_ns, state)?;
            Ok(since.map_or(Kept::NoRoom, Kept::Since))
        }
        _ => writer.append(recording, now_ns, state).map(|()| Kept::Here),
    }
}

/// The first profile's name without its ending.
fn stem(plan: &Plan) -> Option<PathBuf> {
    let out = plan.outputs.first()?;
    let name = out.path.file_name()?.to_str()?;
    Some(out.path.with_file_name(name.strip_suffix(out.format.ending)?))
}

fn tell(beside: &Beside) {
    let place = |path: &Path| path.display().to_string();
    let left: Vec<String> = beside.left.iter().map(|path| place(path)).collect();
    if !left.is_empty() {
        let places = left.join(" ");
        say(&format!(
            "a run that was killed, or more than one, left its recording: `vouch recover {places}` makes profiles of it"
        ));
    }
    if let Some(path) = &beside.replaced {
        say(&format!(
            "{} made room for this run: it was the oldest of nine recordings that killed runs left",
            place(path)
        ));
    }
}
