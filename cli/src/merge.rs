//! Implements `vouch merge` for a Flight Recorder file: adds its events to a profile. For several
//! profiles see `join.rs`.
//!
//! It must never write over the recording.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use vouch_profile::merge::{Choice, MAX_SHOWN_PER_KIND, Merged};
use vouch_report::{grouped, plain};

use crate::document::{self, FileKind};
use crate::error::Error;
use crate::join;
use crate::rewrite::Rewritten;

/// This many event kinds have a line each. All further kinds share one line.
const LINES: usize = 12;
/// How many damaged parts of a recording are listed.
const DAMAGE: usize = 3;

#[derive(Args)]
pub struct MergeOptions {
    /// Write this file, and replace it if it exists [default: the first file's name with .merged
    /// in it, or a free name like it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add only these kinds of JFR events, such as 'shop.*,jdk.CPULoad' [default: all
    /// events, without states]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    events: Vec<String>,
    /// Add at most this many markers of each kind: the longest, or an even selection of those
    /// without a length
    #[arg(long, value_name = "NUMBER", default_value_t = MAX_SHOWN_PER_KIND)]
    most: usize,
}

/// Writes the merged profile, and says what is in it.
pub fn merge(files: &[PathBuf], how: MergeOptions) -> Result<String, Error> {
    let kinds = files.iter().map(|file| document::kind(file)).collect::<Result<Vec<_>, _>>()?;
    let events = kinds.iter().filter(|kind| **kind == FileKind::FlightRecorder).count();
    match (files, kinds.as_slice()) {
        ([profile, recording], [FileKind::Document, FileKind::FlightRecorder])
        | ([recording, profile], [FileKind::FlightRecorder, FileKind::Document]) => {
            events_of(profile, recording, how)
        }
        ([_], _) => Err(Error::OneFileToMerge),
        _ if events > 0 => Err(vouch_profile::Error::SeveralProcesses.into()),
        _ if !how.events.is_empty() || how.most != MAX_SHOWN_PER_KIND => Err(Error::MergeWithoutEvents),
        _ => join::join(files, &kinds, how.out),
    }
}

/// Puts the events of a Flight Recorder file into a profile.
fn events_of(profile: &Path, recording: &Path, how: MergeOptions) -> Result<String, Error> {
    let rewritten = Rewritten::new(profile, how.out, "merged")?;
    if vouch_log::output::is_same(&rewritten.out, recording) {
        return Err(Error::OverMergedRecording(rewritten.out));
    }
    let called = recording.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unreadable = |why| Error::unreadable(recording, why);
    let file = BufReader::with_capacity(1 << 20, File::open(recording).map_err(unreadable)?);
    let document = rewritten.read()?;
    let choice = Choice { recording: called, events: how.events, most: how.most.max(1) };
    if io::stderr().is_terminal() {
        eprintln!("reading {} …", plain(&recording.to_string_lossy()));
    }
    let (document, merged) = vouch_profile::merge::merge(document, file, &choice)?;
    if merged.shown() == 0 {
        return Err(nothing_to_add(profile, &merged));
    }
    let out = rewritten.write(&document)?;
    Ok(text(&out, &merged))
}

/// Why a recording has no event for a profile, and what to do about it.
fn nothing_to_add(profile: &Path, merged: &Merged) -> Error {
    let Merged { recording, stranger, outside, unreadable, left_out, .. } = merged;
    let mut reasons = Vec::new();
    if *outside > 0 {
        reasons.push(format!("{} of its events are before or after the profile", grouped(*outside)));
    }
    if let Some(pid) = stranger {
        reasons.push(format!("it is from another process ({pid})"));
    }
    if *unreadable > 0 {
        reasons.push(format!("{} of its events are damaged", grouped(*unreadable)));
    }
    if !left_out.is_empty() {
        reasons.push(format!(
            "{} of its kinds describe states and not events (--events 'jdk.*' adds them all)",
            left_out.len()
        ));
    }
    if reasons.is_empty() {
        reasons.push("it has no events".to_owned());
    }
    Error::NothingToAdd {
        recording: recording.clone(),
        path: profile.to_owned(),
        reasons,
        is_other_run: *outside > 0,
    }
}

fn text(out: &str, merged: &Merged) -> String {
    let Merged { recording, stranger, kinds, outside, unreadable, left_out, clock, damage, .. } = merged;
    let mut text = format!("{}: {} events of {}", plain(out), grouped(merged.shown()), plain(recording));
    if let Some(pid) = stranger {
        let _ = write!(text, ", from another process ({pid}), in separate tracks");
    }
    let _ = writeln!(
        text,
        "\ntimes: {} of the profile's clock, {}; drift {:+.0} ns a minute\n",
        clock.within(),
        clock.by(),
        clock.drift_ns_a_minute
    );
    if !kinds.is_empty() {
        text.push_str("    events       shown  kind\n");
    }
    for kind in kinds.iter().take(LINES) {
        let [count, shown] = [kind.count, kind.shown].map(grouped);
        let _ = writeln!(text, "{count:>10}  {shown:>10}  {} ({})", plain(&kind.label), plain(&kind.name));
    }
    if let Some(rest) = kinds.get(LINES..).filter(|rest| !rest.is_empty()) {
        let [count, shown] = [
            |kind: &vouch_profile::merge::KindSummary| kind.count,
            |kind: &vouch_profile::merge::KindSummary| kind.shown,
        ]
        .map(|of| grouped(rest.iter().map(of).sum()));
        let _ = writeln!(text, "{count:>10}  {shown:>10}  {} more kinds", rest.len());
    }
    if *outside > 0 {
        let _ = writeln!(text, "\n{} events are before or after the profile", grouped(*outside));
    }
    if !left_out.is_empty() {
        let _ = writeln!(
            text,
            "\nleft out {} kinds that describe states and not events (--events 'jdk.*' adds them all)",
            left_out.len()
        );
    }
    if *unreadable > 0 {
        let _ = writeln!(text, "\n{} events are damaged", grouped(*unreadable));
    }
    for damage in damage.iter().take(DAMAGE) {
        let _ = writeln!(text, "\n{}: {}", plain(recording), plain(damage));
    }
    if let Some(more) = damage.len().checked_sub(DAMAGE).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n{}: and {more} more damaged parts", plain(recording));
    }
    text
}
