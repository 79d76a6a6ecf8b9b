//! The recordings of JVMs that were killed. From them the profiles are made that these JVMs could
//! not write.
//!
//! It must never remove a recording before all requested files are made of it, or replace another
//! run's recording.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use vouch_formats::Format;
use vouch_log::{ENDING, Recovered, is_orphaned};
use vouch_report::Detail;
use vouch_report::options::DEFAULT_OUT;
use vouch_report::options::pattern::PatternValues;

use crate::agent_options::AgentOptions;
use crate::error::Error;
use crate::outputs::{Outputs, free};
use crate::recover;
use crate::reply_dir::ReplyDir;
use crate::say::{seen, show};

const WITHOUT_A_WORD: &str = "[vouch] a JVM was killed or crashed: its profile was made from the recording";

/// Makes the requested files of a recording that a JVM left in the reply folder, because it could
/// write nowhere else.
pub fn recover_within(
    terminal: &ReplyDir,
    outs: &[PathBuf],
    report: Option<&Path>,
    detail: Detail,
) -> Result<Made, Error> {
    let mut made = Made::Nothing;
    for recording in terminal.recordings() {
        let name = recording.file_name().and_then(OsStr::to_str);
        let Some((name, mut left)) = name.and_then(|name| Some((name, terminal.open_left(name)?))) else {
            continue;
        };
        // A private copy is read, which cannot change meanwhile.
        let own = ReplyDir::for_own_jvms()?;
        let copy = own.seen(name);
        let copied = copy_whole(&mut left, &copy);
        copied.map_err(Error::RecordingNotFetched)?;
        let mut lines = vec![WITHOUT_A_WORD.to_owned()];
        let summary = recover::make(&copy, outs, report, detail);
        let summary = summary.map_err(|why| Error::OfRecording(Box::new(why)))?;
        lines.extend(summary.lines().map(str::to_owned));
        show(lines);
        made = Made::All;
    }
    Ok(made)
}

/// Copies what another user has written, if it is no more than a disk has room for.
pub fn copy_whole(from: &mut File, to: &Path) -> io::Result<()> {
    const MAX_FETCHED_BYTES: u64 = 16 << 30;
    if from.metadata()?.len() > MAX_FETCHED_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    vouch_log::output::write_whole(to, false, |to| {
        io::copy(&mut from.take(MAX_FETCHED_BYTES), to).map(|_| ())
    })
}

/// Waits for killed JVMs to vanish. The kernel may take some time after the program that started
/// them was killed.
pub fn await_ends(terminal: &ReplyDir) {
    let is_held = |recording: &PathBuf| recording.exists() && !is_orphaned(recording);
    recover::await_end(|| !terminal.recordings().iter().any(is_held));
}

/// The result of making files from orphaned recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    Nothing,
    /// Some of the requested files could not be made.
    Some,
    All,
}

/// Makes the profile of each of this command's recordings for which the JVM no longer runs. Returns
/// the worst result. `inherited` is true if the JVMs read their options from the environment.
pub fn recover(terminal: &ReplyDir, given: &AgentOptions, inherited: bool) -> Made {
    let recordings = terminal.recordings();
    let made = recordings.iter().filter(|recording| is_orphaned(recording)).map(|recording| {
        let (lines, made) = recover_one(recording, given, inherited);
        show(lines);
        made
    });
    made.min().unwrap_or(Made::Nothing)
}

fn recover_one(recording: &Path, given: &AgentOptions, inherited: bool) -> (Vec<String>, Made) {
    let place = seen(recording);
    let mut lines = vec![WITHOUT_A_WORD.to_owned()];
    let made = recover::read(recording).and_then(|read| make_all(&read, recording, given, inherited));
    let (summary, lacks) = match made {
        Ok(made) => made,
        Err(why) => {
            lines.push(format!("[vouch] {place} {why}"));
            return (lines, Made::Nothing);
        }
    };
    lines.extend(summary.lines().map(str::to_owned));
    if given.has("jfr") || given.has("sources") {
        lines.push("[vouch] --jfr and --sources have no effect on a recovered profile".to_owned());
    }
    if let Some(why) = lacks {
        lines.push(format!(
            "[vouch] {place} {why}; `vouch recover {place} --out FILE --report FILE` writes the missing files"
        ));
        return (lines, Made::Some);
    }
    let is_kept = given.all("recording").any(|value| value == "keep");
    if !is_kept && let Err(error) = fs::remove_file(recording) {
        lines.push(format!("[vouch] {place} is no longer needed, but cannot be removed: {error}"));
    }
    (lines, Made::All)
}

/// Makes all requested files, or only the profile with a reason. Returns the text to print.
fn make_all(
    read: &(Recovered, bool),
    recording: &Path,
    given: &AgentOptions,
    inherited: bool,
) -> Result<(String, Option<String>), Error> {
    let inputs = [recording.to_owned()];
    let first = given.all("out").next().unwrap_or(DEFAULT_OUT);
    let format = Format::from_file_name(first);
    let name = recording.to_string_lossy();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    let mut profile = PathBuf::from(format!("{stem}{}", format.map_or(".json.gz", |format| format.ending)));
    // The process may have had another environment, so a name may not be known.
    let place = PatternValues { pid: read.0.meta.pid, time: None, variable: &|_| None, inherited };
    let named = |wanted: &str| place.expand_own(wanted).ok().map(PathBuf::from);
    // If the exact name is unknown, a file with the recording's name and the right ending counts.
    let is_asked_for =
        named(first).map_or(format.is_some(), |asked| vouch_log::output::is_same(&asked, &profile));
    let others: Option<Vec<PathBuf>> = given.all("out").skip(1).map(named).collect();
    // One, or none.
    let report: Option<Vec<PathBuf>> = given.all("report").last().into_iter().map(named).collect();
    let is_alone = given.all("out").count() < 2 && !given.has("report");
    let lacks = match others.zip(report) {
        _ if !is_asked_for => {
            // The user did not choose that name, so it replaces no file.
            let other = free(&profile.to_string_lossy(), |name| Path::new(name).exists());
            profile = PathBuf::from(other);
            let why = format!("has its profile in {}, so that the earlier file is kept", seen(&profile));
            (!is_alone || format.is_none()).then_some(why)
        }
        None => Some("has output files with names that only that JVM had".to_owned()),
        Some((others, report)) => {
            let outs: Vec<PathBuf> = std::iter::once(profile.clone()).chain(others).collect();
            let made = Outputs::check(&outs, report.first().map(PathBuf::as_path), &inputs)
                .and_then(|outputs| recover::write(read, &outputs, given.detail()));
            match made {
                Ok(summary) => return Ok((summary, None)),
                Err(why) => Some(why.to_string()),
            }
        }
    };
    let outs = [profile];
    Ok((recover::write(read, &Outputs::check(&outs, None, &inputs)?, given.detail())?, lacks))
}
