//! A profile with the events of the Flight Recorder's file in it, for `jfr=`.
//!
//! A recording that cannot be read must never cost the profile.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use vouch_merge::{Choice, MOST, Part, merge};

/// The document to write in the place of the profile, if there is one, and what came of it in a line.
pub fn merged(jfr: &Path, profile: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> (Option<Part>, String) {
    match try_merged(jfr, profile) {
        Ok((document, line)) => (Some(document), format!("jfr: {line}")),
        Err(why) => (None, format!("jfr: the profile is without the recording's events: {why}")),
    }
}

fn try_merged(
    jfr: &Path,
    profile: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(Part, String), String> {
    let file = File::open(jfr).map_err(|error| {
        let jfr = jfr.display();
        match error.kind() {
            io::ErrorKind::NotFound => format!(
                "{jfr} is not there: the JVM writes it when it ends, with -XX:StartFlightRecording=filename={jfr}; \
                 `vouch merge PROFILE {jfr}` does the same later"
            ),
            _ => format!("{jfr} cannot be read: {error}"),
        }
    })?;
    let mut text = Vec::new();
    profile(&mut text).map_err(|error| error.to_string())?;
    let document: Part = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    drop(text);
    let recording = jfr.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let choice = Choice { recording, events: Vec::new(), most: MOST };
    let (document, merged) = merge(document, BufReader::with_capacity(1 << 20, file), &choice)?;
    if let Some(pid) = &merged.stranger {
        return Err(format!("{} is of another process ({pid})", jfr.display()));
    }
    Ok((document, merged.line()))
}
