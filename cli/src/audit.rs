//! `vouch audit`: other profilers' recordings, held to the bytecode.
//!
//! It must never write over a recording, or judge what carries no place in the bytecode.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Read, Write, stderr};
use std::path::{Path, PathBuf};

use clap::Args;
use vouch_audit::{Audit, AuditReport, Places, Progress, side_by_side};

use crate::document::{self, Kind};

#[derive(Args)]
pub struct How {
    /// Where the program's classes lie, with `:` between: folders, jars, wars, and what is in them; may be given again [default: what the recording
    /// says of its class path]
    #[arg(long, value_name = "PATH", value_delimiter = ':')]
    classes: Vec<PathBuf>,
    /// The JDK that ran [default: where the recording says that it was]
    #[arg(long, value_name = "HOME")]
    jdk: Option<PathBuf>,
    /// All figures and refutations, for machines and for `vouch explain` (.json)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Audits each recording by itself, and puts them side by side
    #[arg(long)]
    compare: bool,
}

/// What there is to say of the recordings.
pub fn audit(files: &[PathBuf], how: &How) -> Result<String, String> {
    for file in files {
        if file.is_dir() {
            return Err(format!("{} is a folder: name the recordings (.jfr) in it", file.display()));
        }
        if packed(file) {
            return Err(format!("{} is packed: gunzip it first", file.display()));
        }
        if document::kind(file)? != Kind::FlightRecorder {
            return Err(format!(
                "{} cannot be audited: of all formats a Flight Recorder file (.jfr) alone says where in its bytecode each frame was; \
                 async-profiler writes one, too (jfr, or -o jfr)",
                file.display()
            ));
        }
    }
    check(files, how)?;
    let places = Places { classes: how.classes.clone(), jdk: how.jdk.clone() };
    if how.compare {
        let one = |file: &PathBuf| judged(std::slice::from_ref(file), &places);
        let reports = files.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        return Ok(side_by_side(&reports));
    }
    let report = judged(files, &places)?;
    let written = how.report.as_ref().map(|path| write(&report, path)).transpose()?;
    Ok(report.summary(written.as_deref()))
}

/// True if a file begins as gzip's do.
fn packed(file: &Path) -> bool {
    let mut first = [0; 2];
    file.is_file()
        && File::open(file).is_ok_and(|mut file| file.read_exact(&mut first).is_ok())
        && first == [0x1f, 0x8b]
}

fn check(files: &[PathBuf], how: &How) -> Result<(), String> {
    if let Some(path) = how.classes.iter().chain(&how.jdk).find(|path| !path.exists()) {
        return Err(format!("{} is not there", path.display()));
    }
    let Some(report) = &how.report else { return Ok(()) };
    if how.compare {
        return Err("--report is of one audit: leave --compare out".to_owned());
    }
    if report.extension().is_none_or(|ending| ending != "json") {
        return Err(format!("{} cannot be written: an audit's report is .json", report.display()));
    }
    if files.iter().any(|file| vouch_output::is_same(report, file)) {
        return Err(format!("{} is the recording: name another file", report.display()));
    }
    vouch_output::check(report)
}

fn write(report: &AuditReport, path: &Path) -> Result<String, String> {
    let unwritten = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    vouch_output::write_whole(path, false, |to| serde_json::to_writer_pretty(to, report).map_err(Into::into))
        .map_err(unwritten)?;
    Ok(path.display().to_string())
}

fn judged(files: &[PathBuf], places: &Places) -> Result<AuditReport, String> {
    let mut audit = Audit::default();
    for path in files {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("{name} cannot be read: {error}"))?;
        let mut shown = Shown::default();
        audit.read(&name, BufReader::with_capacity(1 << 20, file), |progress| shown.show(&name, progress))?;
    }
    let mut shown = Shown::default();
    audit.judge(places, |progress| shown.show("", progress))
}

/// How far it is, on a terminal: a line that is written over.
#[derive(Default)]
struct Shown {
    percent: Option<u64>,
}

impl Shown {
    fn show(&mut self, name: &str, progress: Progress) {
        let (done, of, what) = match progress {
            Progress::Reading(done, of) => (done, of, format!("reading {name}")),
            Progress::Looking(done, of) => (done as u64, of as u64, "looking into classes".to_owned()),
        };
        let percent = (done * 100).checked_div(of).unwrap_or(100);
        if self.percent != Some(percent) && stderr().is_terminal() {
            self.percent = Some(percent);
            let end = if percent == 100 { "\r\x1b[K" } else { "" };
            let _ = write!(stderr(), "\r\x1b[K{} … {percent} %{end}", vouch_report::plain(&what));
        }
    }
}
