//! Writes a session's profiles and report, and says what came of it.
//!
//! A file that cannot be written costs the others nothing, and the program nothing at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use vouch_formats::Meta;
use vouch_report::{Detail, Files, Run, TrustReport};

use super::additions::Additions;
use super::state::Session;
use crate::plan::Plan;
use crate::say::say;

fn say_lines(lines: &[String]) {
    if !lines.is_empty() {
        say(&lines.join("\n"));
    }
}

/// Writes everything that `places` names. True if all of it was written.
pub fn write(session: &Session, places: &Plan, meta: Meta, run: Run) -> bool {
    let recording = &session.recorder.recording;
    let meta = Meta { report: TrustReport::of(recording, run), ..meta };
    let report = &meta.report;
    let mut lost = Vec::new();
    let mut written = |path: &Path, result: io::Result<()>| match result {
        Ok(()) => Some(path.display().to_string()),
        Err(error) => {
            lost.push(format!("lost: {} could not be written: {error}", path.display()));
            None
        }
    };
    let (mut all, mut opens, mut additions) = (Vec::new(), None, None);
    for out in &places.outputs {
        let format = out.format;
        let plain = |file: &mut dyn Write| format.write(recording, &meta, file);
        // What is added is looked for once: all that the front-end opens is the same document.
        let document = if format.opens {
            additions.get_or_insert_with(|| Additions::of(&places.options, &plain)).document.as_ref()
        } else {
            None
        };
        let result = vouch_log::output::write_whole(&out.path, format.gzip, |file| match document {
            Some(document) => serde_json::to_writer(file, document).map_err(io::Error::from),
            None => plain(file),
        });
        if let Some(file) = written(&out.path, result) {
            opens = opens.or_else(|| format.opens.then(|| file.clone()));
            all.push(file);
        }
    }
    if let Some(path) = &places.report {
        all.extend(written(path, vouch_log::output::write_whole(path, false, |file| report.write(file))));
    }
    let Additions { lines: added, failures: not_added, .. } = additions.unwrap_or_default();
    let is_whole = lost.is_empty();
    if !is_whole {
        lost.push("the program itself is not touched by this".to_owned());
    }
    // What was asked for and is not there comes first, and is said even to those who want no
    // summary.
    say_lines(&lost);
    say_lines(&not_added);
    let detail = places.options.detail;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    say(&report.summary(Files { all: &all, opens: opens.as_deref() }, detail));
    if detail != Detail::Quiet {
        say_lines(&added);
    }
    is_whole
}

/// A dump may lie where the end is not written after all: whoever has the recording's terminal
/// would fetch it in the place of the end.
pub fn take_back_dumped(plan: &Plan, places: &Plan) {
    let Some(terminal) = &plan.options.terminal else { return };
    for file in plan.files().filter(|file| file.starts_with(terminal)) {
        if !places.files().any(|wanted| wanted == file) {
            // It may not be there.
            let _ = fs::remove_file(file);
        }
    }
}
