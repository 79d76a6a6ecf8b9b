//! The recording on disk while the session runs. It outlives a JVM that is killed, and `vouch
//! recover` makes a profile from it.
//!
//! It must never break the program's run, or cost the user the profile at its end. A failed write
//! is reported once, and tried again.

use std::io;
use std::path::{Path, PathBuf};

use vouch_formats::Meta;
use vouch_log::{ENDING, OtherRecordings, State, Writer};
use vouch_recording::Recording;
use vouch_report::{Detail, LIMIT_REACHED, RecordingFile, Run};
use vouch_sampling::clock;

use crate::options::choices::OnDisk;
use crate::plan::Plan;
use crate::say::say;
use crate::terminal;

/// The limits of the time between two writes of the run's state. Within them it is a tenth of the
/// run's time.
const SOONEST_NS: u64 = 1_000_000_000;
const LATEST_NS: u64 = 30_000_000_000;

/// The recording's file, as long as it exists.
#[derive(Debug)]
pub struct Disk {
    writer: Option<Writer>,
    begun_ns: u64,
    state_due_ns: u64,
    /// How many samples the JVM itself had contradicted at the last state.
    contradicted: u64,
    /// True once a failed write was reported.
    failing: bool,
    /// True once nothing more is written to the file.
    stopped: bool,
    /// The time from which the file has data, if earlier data was dropped.
    since_ns: Option<u64>,
    /// The CPU time that the agent used for the file, in nanoseconds.
    cpu_ns: u64,
}

impl Disk {
    /// Creates the file in the first profile's folder.
    pub fn begin(plan: &Plan, now_ns: u64) -> Self {
        let mut writer = None;
        if let (Some(stem), true) = (stem(plan), plan.options.on_disk != OnDisk::Off) {
            match Writer::create(&stem, plan.options.most_on_disk) {
                Ok((created, others)) => {
                    terminal::recording(terminal::BEGUN, created.path());
                    writer = Some(created);
                    report_orphaned(&others, plan.options.detail);
                }
                Err(error) => {
                    let why = match error.kind() {
                        io::ErrorKind::AlreadyExists => {
                            "nine files of this name exist: move them away".to_owned()
                        }
                        _ => error.to_string(),
                    };
                    let stem = stem.display();
                    say(&format!(
                        "recording: {stem}{ENDING} cannot be created, so the profile is lost if the JVM is killed: {why}"
                    ));
                }
            }
        }
        Self {
            writer,
            begun_ns: now_ns,
            state_due_ns: now_ns,
            contradicted: 0,
            failing: false,
            stopped: false,
            since_ns: None,
            cpu_ns: 0,
        }
    }

    /// Returns true if the state of the run is due.
    pub fn state_is_due(&self, now_ns: u64) -> bool {
        !self.stopped && self.writer.is_some() && now_ns >= self.state_due_ns
    }

    /// Returns true if the state of the run must be written. New contradictions by the JVM are
    /// written along with the samples that they contradict.
    pub fn wants_state(&mut self, now_ns: u64, contradicted: u64) -> bool {
        let news = std::mem::replace(&mut self.contradicted, contradicted) != contradicted;
        let is_full = |writer: &Writer| !self.stopped && (news || writer.is_full(now_ns));
        self.state_is_due(now_ns) || self.writer.as_ref().is_some_and(is_full)
    }

    /// Returns the state of a run that began at `started_ns`, which is written with the recording.
    pub fn run_state(&self, started_ns: u64, meta: Meta, mut run: Run, is_last: bool) -> State {
        let since = self.since_ns.map(|since| since.saturating_sub(started_ns));
        run.engine_notes.extend(since.map(|since| {
            format!(
                "{LIMIT_REACHED}: what was sampled in its first {:.1} s is not in it, and counts as dropped",
                clock::seconds(since)
            )
        }));
        State::new(meta, run, is_last)
    }

    /// Adds CPU time that a thread used for the file.
    pub fn add_cpu_time(&mut self, cpu_ns: u64) {
        self.cpu_ns += cpu_ns;
    }

    /// Returns the file's cost so far.
    pub fn report(&self) -> Option<RecordingFile> {
        let bytes = self.writer.as_ref()?.written();
        Some(RecordingFile { bytes, cpu_ms: clock::seconds(self.cpu_ns) * 1000.0 })
    }

    /// Appends the new samples.
    pub fn keep_up(&mut self, recording: &mut Recording, now_ns: u64, state: Option<&State>) {
        let Some(writer) = self.writer.as_mut().filter(|_| !self.stopped) else { return };
        let place = writer.path().display().to_string();
        if state.is_some() {
            self.state_due_ns = now_ns + ((now_ns - self.begun_ns) / 10).clamp(SOONEST_NS, LATEST_NS);
            if !writer.is_there() {
                self.stopped = true;
                return say(&format!(
                    "recording: {place} was deleted, so the profile is lost if the JVM is killed"
                ));
            }
        }
        match append(writer, recording, now_ns, state) {
            Ok(kept) => {
                if let Kept::Since(since_ns) = kept {
                    self.since_ns = Some(since_ns).filter(|since_ns| *since_ns > 0);
                    // The next state records it.
                    self.state_due_ns = now_ns;
                }
                if std::mem::take(&mut self.failing) {
                    say(&format!("recording: {place} goes on"));
                }
                if matches!(kept, Kept::NoRoom) {
                    self.stopped = true;
                    say(&format!(
                        "recording: {place} ends here: its size limit is too small (recording-limit= raises it)"
                    ));
                }
            }
            Err(error) if !std::mem::replace(&mut self.failing, true) => say(&format!(
                "recording: {place} cannot be written: {error}; writing is retried, and until it succeeds, samples are lost if the JVM is killed"
            )),
            Err(_) => {}
        }
    }

    /// Returns what the user can do if a file of the run is lost. Returns `None` if the recording
    /// has no data.
    pub fn remedy(&self) -> Option<String> {
        let writer = self.writer.as_ref().filter(|writer| has_content(writer))?;
        let how_far = if self.is_whole() { "" } else { ", as far as it could be written" };
        let place = writer.path().display();
        Some(format!(
            "{place} has the recording{how_far}: `vouch recover {place} --out FILE` makes a profile of it"
        ))
    }

    /// Returns true if the last write stored everything.
    fn is_whole(&self) -> bool {
        !self.stopped && !self.failing
    }

    /// Ends the file. Removes it if all files of the run are `saved`, or if it has no data.
    pub fn end(self, plan: &Plan, saved: bool) {
        let is_whole = self.is_whole();
        let Some(mut writer) = self.writer else { return };
        terminal::recording(terminal::ENDED, writer.path());
        if (saved && plan.options.on_disk == OnDisk::On) || !has_content(&writer) {
            let place = writer.path().display().to_string();
            return remove(writer, &place);
        }
        if is_whole {
            // Without its end the file reads as the recording of a killed run, which is complete,
            // too.
            let _ = writer.finish();
        }
    }

    /// Removes the file of a run that recorded nothing.
    pub fn discard(self) {
        if let Some(writer) = self.writer {
            terminal::recording(terminal::ENDED, writer.path());
            let place = writer.path().display().to_string();
            remove(writer, &place);
        }
    }
}

/// Returns true if a profile can be made from the file.
fn has_content(writer: &Writer) -> bool {
    writer.length() > 0 && writer.is_there()
}

fn remove(writer: Writer, place: &str) {
    if let Err(error) = writer.remove() {
        say(&format!("recording: {place} is no longer needed, but cannot be removed: {error}"));
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
    if let Some(state) = state.filter(|state| !state.is_last)
        && writer.is_full(now_ns)
        // If the new start fails, the file is continued up to its limit.
        && let Ok(since) = writer.start_over(recording, now_ns, state)
    {
        match since {
            Some(since) => return Ok(Kept::Since(since)),
            None if writer.is_at_its_limit() => return Ok(Kept::NoRoom),
            // The file still has half of its space.
            None => {}
        }
    }
    writer.append(recording, now_ns, state).map(|()| Kept::Here)
}

/// Returns the first profile's path without its extension.
fn stem(plan: &Plan) -> Option<PathBuf> {
    let out = plan.outputs.first()?;
    let name = out.path.file_name()?.to_str()?;
    Some(out.path.with_file_name(name.strip_suffix(out.format.ending)?))
}

fn report_orphaned(others: &OtherRecordings, detail: Detail) {
    let place = |path: &Path| path.display().to_string();
    let orphaned: Vec<String> = others.orphaned.iter().map(|path| place(path)).collect();
    if !orphaned.is_empty() && detail != Detail::Quiet {
        let places = orphaned.join(" ");
        say(&format!(
            "a run that was killed, or more than one, left its recording: `vouch recover {places}` makes profiles of it; take away what you need no more"
        ));
    }
    if let Some(path) = &others.replaced {
        let path = place(path);
        say(&format!(
            "{path} made room for this run: it was the oldest of nine recordings that killed runs left"
        ));
    }
}
