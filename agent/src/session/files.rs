//! Writes a session's profiles and report, and says what came of it.
//!
//! A file that cannot be written costs the others nothing, and the program nothing at all.

use std::collections::BTreeMap;
use std::path::Path;

use vouch_profile::{Power, write_firefox, write_folded};

use super::{Plan, Program, Session, trust};
use crate::options::Format;
use crate::output;
use crate::say::say;

/// Writes everything that `places` names. True if all of it was written.
pub fn write(session: &Session, places: &Plan, program: &Program, power: BTreeMap<String, Power>) -> bool {
    let report = trust::report(session, program, power);
    let meta = trust::meta(session, program, &report);
    let recording = &session.recorder.recording;
    let mut lost = Vec::new();
    let mut written = |path: &Path, result: std::io::Result<()>| match result {
        Ok(()) => Some(path.display().to_string()),
        Err(error) => {
            lost.push(format!("lost: {} could not be written: {error}", path.display()));
            None
        }
    };
    let mut profiles = Vec::new();
    for out in &places.outputs {
        let gzip = out.format == Format::FirefoxGzip;
        let result = output::write_whole(&out.path, gzip, |file| match out.format {
            Format::Firefox | Format::FirefoxGzip => write_firefox(recording, &meta, file),
            Format::Folded => write_folded(recording, file),
        });
        profiles.extend(written(&out.path, result));
    }
    let told = places
        .report
        .as_ref()
        .and_then(|path| written(path, output::write_whole(path, false, |file| report.write(file))));
    if !session.plan.options.quiet {
        let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
        say(&report.summary(&profiles, told.as_deref()));
    }
    // What was lost is said even to those who want no summary.
    if !lost.is_empty() {
        lost.push("the program itself is not touched by this".to_owned());
        say(&lost.join("\n"));
    }
    lost.is_empty()
}
