//! Writes a session's profiles and report, and reports the result.
//!
//! A file that cannot be written must not affect the other files or the program. It is written into
//! another folder, if one takes it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vouch_formats::Meta;
use vouch_log::output::elsewhere::{other_folders, write_elsewhere};
use vouch_log::output::write_whole;
use vouch_recording::Recording;
use vouch_report::{Detail, Run, TrustReport};
use vouch_sampling::clock;

use super::profile_extras::ProfileExtras;
use super::state::Session;
use crate::command;
use crate::plan::Plan;
use crate::say::say;

fn say_lines(lines: &[String]) {
    if !lines.is_empty() {
        say(&lines.join("\n"));
    }
}

/// How the files of a run were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Each file is where it was requested.
    Requested,
    /// Each file was written, at least one of them into another folder.
    Elsewhere,
    /// At least one file is lost.
    Lost,
}

impl Written {
    pub fn is_requested(self) -> bool {
        self == Self::Requested
    }
}

/// The files that are written, and messages about those that are not at their requested path.
struct Files {
    folders: Vec<PathBuf>,
    all: Vec<String>,
    moved: Vec<String>,
    lost: Vec<String>,
    /// When the recording began. An older file belongs to another run.
    began: SystemTime,
    has_replaced: bool,
}

impl Files {
    fn new(began: SystemTime, folders: Vec<PathBuf>) -> Self {
        let (all, moved, lost) = (Vec::new(), Vec::new(), Vec::new());
        Self { folders, all, moved, lost, began, has_replaced: false }
    }

    /// Writes a file to its requested path, or into another folder. Returns the path.
    fn write(
        &mut self,
        (path, ending): (&Path, &str),
        gzip: bool,
        write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Option<String> {
        let requested = path.display().to_string();
        let there = fs::metadata(path).and_then(|file| file.modified());
        let replaces = there.is_ok_and(|modified| modified < self.began);
        let written = match write_whole(path, gzip, write) {
            Ok(()) => {
                self.has_replaced |= replaces;
                Some(requested)
            }
            Err(error) => {
                let elsewhere = write_elsewhere((path, ending), &run_of(path), &self.folders, gzip, write);
                let elsewhere = elsewhere.map(|path| path.display().to_string());
                match &elsewhere {
                    Some(other) => self.moved.push(format!(
                        "{requested} could not be written: {error}; it was written to {other} instead"
                    )),
                    None => self
                        .lost
                        .push(format!("lost: {requested} could not be written: {error}{}", self.tried(path))),
                }
                elsewhere
            }
        };
        self.all.extend(written.clone());
        written
    }

    /// Lists the folders that did not take a file either, as readable text.
    fn tried(&self, path: &Path) -> String {
        let others = other_folders(path, &self.folders).map(|folder| folder.display().to_string());
        let others: Vec<String> = others.collect();
        if others.is_empty() {
            String::new()
        } else {
            format!("; it could not be written to {} either", others.join(" or "))
        }
    }

    fn written(&self) -> Written {
        match (self.lost.is_empty(), self.moved.is_empty()) {
            (false, _) => Written::Lost,
            (true, false) => Written::Elsewhere,
            (true, true) => Written::Requested,
        }
    }
}

/// Returns the part of a file name that separates this run from others in a shared folder. It is
/// the pid, unless the name has it, and the time.
fn run_of(path: &Path) -> String {
    let (pid, stamp) = (std::process::id().to_string(), clock::file_stamp());
    let has_pid = path.file_name().is_some_and(|name| name.to_string_lossy().contains(&pid));
    if has_pid { stamp } else { format!("{pid}-{stamp}") }
}

/// Writes all files in `places`. `remedy` says what the user can do if a file is lost.
pub fn write(session: &Session, places: &Plan, meta: Meta, run: Run, remedy: Option<String>) -> Written {
    let began = UNIX_EPOCH + Duration::from_nanos(session.started.epoch);
    // The working folder comes first: the temporary folder may disappear with the process.
    let mut folders: Vec<PathBuf> =
        std::env::current_dir().into_iter().chain([std::env::temp_dir()]).collect();
    folders.dedup();
    let mut files = Files::new(began, folders);
    let recording = &session.recorder.recording;
    let WrittenContent { report, opens, extras } = write_all(recording, places, meta, run, &mut files);
    let ProfileExtras { lines: added, failures: not_added, .. } = extras;
    let written = files.written();
    let Files { all, moved, mut lost, has_replaced, .. } = files;
    if written == Written::Lost {
        lost.extend(remedy);
        lost.push("the program itself is not touched by this".to_owned());
    }
    // Requested files that are missing come first. They are reported even without a summary.
    say_lines(&moved);
    say_lines(&lost);
    say_lines(&not_added);
    let detail = places.options.detail;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // It is searched for in the PATH, so only if the summary has it.
    let names_command = opens.is_some() && detail != Detail::Quiet;
    let command = if names_command { command::callable() } else { String::new() };
    let opens = opens.as_deref();
    say(&report.summary(vouch_report::Files { all: &all, opens, has_replaced, command: &command }, detail));
    if detail != Detail::Quiet {
        say_lines(&added);
    }
    written
}

/// Writes all files of a period. Returns the files that were written, and an error for each file
/// that is lost. No other folder is tried, because files in it would have no limit. Source text
/// that could not be added is reported with the last period.
pub fn write_period(
    recording: &Recording,
    places: &Plan,
    meta: Meta,
    run: Run,
) -> (Vec<String>, Vec<String>) {
    let mut files = Files::new(SystemTime::now(), Vec::new());
    write_all(recording, places, meta, run, &mut files);
    (files.all, files.lost)
}

/// What was written, apart from the files.
struct WrittenContent {
    report: TrustReport,
    /// The first profile that the front-end opens.
    opens: Option<String>,
    extras: ProfileExtras,
}

fn write_all(
    recording: &Recording,
    places: &Plan,
    meta: Meta,
    run: Run,
    files: &mut Files,
) -> WrittenContent {
    let measure = places.options.measure.unwrap_or_default();
    let meta = Meta { report: TrustReport::from_recording(recording, run), measure, ..meta };
    let (mut opens, mut extras) = (None, None);
    for out in &places.outputs {
        let format = out.format;
        let plain = |file: &mut dyn Write| format.write(recording, &meta, file);
        // The additions are searched only once: all files that the front-end opens are the same
        // document.
        let document = if format.opens {
            extras.get_or_insert_with(|| ProfileExtras::add_to(&places.options, &plain)).document.as_ref()
        } else {
            None
        };
        let file = files.write((&out.path, format.ending), format.gzip, &|file| match document {
            Some(document) => serde_json::to_writer(file, document).map_err(io::Error::from),
            None => plain(file),
        });
        opens = opens.or(file.filter(|_| format.opens));
    }
    if let Some(report) = &places.report {
        files.write((&report.path, ".json"), false, &|file| meta.report.write(file));
    }
    WrittenContent { report: meta.report, opens, extras: extras.unwrap_or_default() }
}

/// Removes dumps at paths where the end was not written. Otherwise the `vouch` that follows the
/// recording would fetch a dump instead of the end.
pub fn take_back_dumped(plan: &Plan, places: &Plan) {
    let Some(terminal) = &plan.options.terminal else { return };
    for file in plan.files().filter(|file| file.starts_with(terminal)) {
        if !places.files().any(|wanted| wanted == file) {
            // The file may not exist.
            let _ = fs::remove_file(file);
        }
    }
}
