//! Implements `vouch merge` for profiles and recordings: the processes of a service, or several
//! times of one process, become one profile.
//!
//! It must never write over a file that it reads.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use vouch_formats::Format;
use vouch_profile::document::Part;
use vouch_profile::join::{Joined, Source};
use vouch_report::{duration, grouped, plain};

use crate::document::{self, FileKind};
use crate::error::Error;
use crate::recover::ended;
use crate::rewrite::Rewritten;

/// The text lists at most this many processes by name.
const MAX_LISTED: usize = 10;

/// Writes one profile of all files, and returns a text about its content. `kinds` has the kind of
/// each file.
pub fn join(files: &[PathBuf], kinds: &[FileKind], out: Option<PathBuf>) -> Result<String, Error> {
    let first = files.first().ok_or(Error::NothingToJoin)?;
    let rewritten = Rewritten::new(first, out, "merged")?;
    if let Some(read) = files.iter().find(|file| vouch_log::output::is_same(file, &rewritten.out)) {
        return Err(Error::OverMerged(read.clone()));
    }
    let (mut sources, mut warnings) = (Vec::new(), Vec::new());
    for (at, (file, kind)) in files.iter().zip(kinds).enumerate() {
        document::named_once(&files[..at], file)?;
        if io::stderr().is_terminal() {
            eprintln!("reading {} …", plain(&file.to_string_lossy()));
        }
        let document = match kind {
            FileKind::Recording => {
                let (document, lacks) = replayed(file).map_err(|why| why.of_file(file))?;
                warnings.extend(lacks.into_iter().map(|lacks| format!("{}: {lacks}", file.display())));
                document
            }
            _ => document::profile(file)?,
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sources.push(Source { file: name, document });
    }
    let (document, joined) = vouch_profile::join::join(sources)?;
    let out = rewritten.write(&document)?;
    let mut text = text(&out, files.len(), &joined);
    for warning in warnings {
        let _ = writeln!(text, "{}", plain(&warning));
    }
    Ok(text)
}

/// Makes a profile of a recording, and returns it with notes on what it lacks.
fn replayed(file: &Path) -> Result<(Part, Vec<String>), Error> {
    let open = vouch_classes::archive::open_file(file)?;
    let in_use = vouch_log::output::held::is_in_use(&open);
    let recovered = vouch_log::read(open)?;
    let lacks = recovered
        .found
        .damage()
        .into_iter()
        .chain(ended(in_use, &recovered.found).map(str::to_owned))
        .collect();
    let format = Format::from_file_name(".json").ok_or(Error::NoProfileFormat)?;
    let mut text = Vec::new();
    let written = format.write(&recovered.recording, &recovered.meta, &mut text);
    written.map_err(Error::Replay)?;
    let document = serde_json::from_slice(&text).map_err(|why| Error::Replay(why.into()))?;
    Ok((document, lacks))
}

fn text(out: &str, files: usize, joined: &Joined) -> String {
    let Joined { processes, tracks, by_time_of_day, gaps } = joined;
    let mut text = format!(
        "wrote {}: {} files, {} {}, {} tracks\n",
        plain(out),
        grouped(files as u64),
        grouped(processes.len() as u64),
        if processes.len() == 1 { "process" } else { "processes" },
        grouped(*tracks as u64)
    );
    for process in processes.iter().take(MAX_LISTED) {
        let _ = writeln!(text, "  {}", plain(process));
    }
    if processes.len() > MAX_LISTED {
        let _ = writeln!(text, "  and {} more", processes.len() - MAX_LISTED);
    }
    for (file, gap_ms) in gaps.iter().take(MAX_LISTED) {
        let _ = writeln!(
            text,
            "no overlap in time: {} begins {} after everything before it has ended",
            plain(file),
            duration(*gap_ms)
        );
    }
    if gaps.len() > MAX_LISTED {
        let _ =
            writeln!(text, "and {} more files that overlap with none before them", gaps.len() - MAX_LISTED);
    }
    let strange: Vec<String> = by_time_of_day.iter().take(MAX_LISTED).map(|file| plain(file)).collect();
    if !strange.is_empty() {
        let more = if by_time_of_day.len() > MAX_LISTED { ", and others" } else { "" };
        let _ = writeln!(
            text,
            "another machine's clock, or another start's, related by the time of day alone: {}{more}",
            strange.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_common_time_are_named() {
        let joined = |gaps: &[(&str, f64)]| Joined {
            processes: vec!["Shop".to_owned()],
            tracks: 2,
            by_time_of_day: Vec::new(),
            gaps: gaps.iter().map(|(file, ms)| ((*file).to_owned(), *ms)).collect(),
        };
        assert!(!text("a.json", 2, &joined(&[])).contains("overlap"));
        let text = text("a.json", 2, &joined(&[("b.json", 7_500.0)]));
        let line = "no overlap in time: b.json begins 7.50 s after everything before it has ended\n";
        assert!(text.ends_with(line), "{text}");
    }
}
