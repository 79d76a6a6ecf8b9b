//! What JVMs that were killed have left: their recordings, of which the profiles are made that they could not write.
//!
//! It must never take away a recording of which not everything was made that was asked for.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use vouch_formats::Format;
use vouch_log::{ENDING, Recovered, is_left};
use vouch_options::DEFAULT_OUT;
use vouch_options::pattern::Place;

use crate::given::{Given, seen};
use crate::outputs::Outputs;
use crate::recover;
use crate::say::show;
use crate::terminal::Terminal;

const WITHOUT_A_WORD: &str =
    "[vouch] a JVM ended without a word; its profile is made of what it had recorded";

/// Makes the profile, and whatever else is wanted, of a recording that a JVM left in the terminal itself, since it could write nowhere else;
/// of how many.
pub fn recover_within(terminal: &Terminal, outs: &[PathBuf], report: Option<&Path>) -> Result<usize, String> {
    let mut made = 0;
    for recording in terminal.recordings() {
        let name = recording.file_name().and_then(OsStr::to_str);
        let Some((name, mut left)) = name.and_then(|name| Some((name, terminal.open_left(name)?))) else {
            continue;
        };
        // A copy of our own is read, which nobody changes meanwhile.
        let own = Terminal::here()?;
        let copy = own.seen(name);
        let copied = copy_whole(&mut left, &copy);
        copied.map_err(|error| format!("the recording cannot be fetched: {error}"))?;
        let mut lines = vec![WITHOUT_A_WORD.to_owned()];
        let summary = recover::make(&copy, outs, report);
        let summary = summary.map_err(|why| format!("the recording {why}"))?;
        lines.extend(summary.lines().map(str::to_owned));
        show(lines);
        made += 1;
    }
    Ok(made)
}

/// Copies what another user has written, if it is no more than a disk has room for.
pub fn copy_whole(from: &mut File, to: &Path) -> io::Result<()> {
    const MOST: u64 = 16 << 30;
    if from.metadata()?.len() > MOST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    vouch_output::write_whole(to, false, |to| io::copy(&mut from.take(MOST), to).map(|_| ()))
}

/// Waits for JVMs to be gone that were killed together with the program that had started them: a kernel takes its time for that.
pub fn await_ends(terminal: &Terminal) {
    let is_held = |recording: &PathBuf| recording.exists() && !is_left(recording);
    recover::await_end(|| !terminal.recordings().iter().any(is_held));
}

/// Makes the profile of each recording that was begun from this terminal and whose process is gone; of how many.
pub fn recover(terminal: &Terminal, given: &Given) -> usize {
    let mut made = 0;
    for recording in terminal.recordings().iter().filter(|recording| is_left(recording)) {
        let (lines, is_made) = recover_one(recording, given);
        show(lines);
        made += usize::from(is_made);
    }
    made
}

fn recover_one(recording: &Path, given: &Given) -> (Vec<String>, bool) {
    let out = given.all("out").next().unwrap_or(DEFAULT_OUT);
    let ending = Format::of(out).map_or(".json.gz", |format| format.ending);
    let name = recording.to_string_lossy();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    let profile = PathBuf::from(format!("{stem}{ending}"));
    let place = seen(recording);
    let mut lines = vec![WITHOUT_A_WORD.to_owned()];
    let made = recover::read(recording).and_then(|read| make_all(&read, recording, profile, given));
    let is_made = made.is_ok();
    match made {
        Ok((summary, lacks)) => {
            lines.extend(summary.lines().map(str::to_owned));
            let is_kept = given.all("recording").any(|value| value == "keep");
            if let Some(why) = lacks {
                lines.push(format!(
                    "[vouch] {place} {why}; `vouch recover {place}` makes the other files of it"
                ));
            } else if !is_kept && let Err(error) = fs::remove_file(recording) {
                lines.push(format!("[vouch] {place} is needed no more, and could not be removed: {error}"));
            }
        }
        Err(why) => lines.push(format!("[vouch] {place} {why}")),
    }
    (lines, is_made)
}

/// Makes all that was asked for, or the profile alone and why not more; what there is to say.
fn make_all(
    read: &(Recovered, bool),
    recording: &Path,
    profile: PathBuf,
    given: &Given,
) -> Result<(String, Option<String>), String> {
    let inputs = [recording.to_owned()];
    let variable = |name: &str| std::env::var(name).ok();
    let place = Place { pid: read.0.meta.pid, time: "%t".to_owned(), variable: &variable, inherited: false };
    let expand = |wanted: &str| match place.expand(wanted)? {
        timed if timed.contains("%t") => Err("has files whose names have its time in them".to_owned()),
        name => Ok(PathBuf::from(name)),
    };
    let mut outs = vec![profile];
    let others: Result<Vec<_>, _> = given.all("out").skip(1).map(expand).collect();
    let report = given.all("report").last().map(expand).transpose();
    let why = match others.and_then(|others| Ok((others, report?))) {
        Ok((others, report)) => {
            outs.extend(others);
            match Outputs::check(&outs, report.as_deref(), &inputs) {
                Ok(outputs) => return Ok((recover::write(read, &outputs)?, None)),
                Err(why) => why,
            }
        }
        Err(why) => why,
    };
    outs.truncate(1);
    Ok((recover::write(read, &Outputs::check(&outs, None, &inputs)?)?, Some(why)))
}
