//! `vouch audit`: other profilers' recordings, held to the bytecode.
//!
//! It must never write over a recording, or judge what carries no place in the bytecode.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Read, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use vouch_audit::{Audit, Audited, Places, Progress, side_by_side};
use vouch_report::Files;

use crate::document::{self, Kind};
use crate::outputs::Outputs;

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
    /// The recording as a profile, its refuted stacks set apart, by its ending: .json, .json.gz, .folded, .html or .svg; may be given again
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Of which samples the profile is, where the recording has some by several clocks: 'profiler.WallClockSample' [default: CPU time before others,
    /// wall clock last]
    #[arg(long, value_name = "KIND", requires = "out")]
    samples: Option<String>,
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
        if let Some(why) = refusal(file)? {
            return Err(format!("{} {why}", file.display()));
        }
    }
    check(how)?;
    let first = files.first().map(|file| file.display().to_string()).unwrap_or_default();
    let failed = |why: String| format!("{first} {why}");
    let outputs = Outputs::check(&how.out, how.report.as_deref(), files).map_err(failed)?;
    let places = Places { classes: how.classes.clone(), jdk: how.jdk.clone() };
    if how.compare {
        let one = |file: &PathBuf| Ok::<_, String>(judged(std::slice::from_ref(file), &places)?.report);
        let reports = files.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        return Ok(side_by_side(&reports));
    }
    let audited = judged(files, &places)?;
    outputs
        .write_report(|to| serde_json::to_writer_pretty(to, &audited.report).map_err(Into::into))
        .map_err(failed)?;
    let report = audited.report.clone();
    if !outputs.has_profiles() {
        return Ok(outputs.told(|written| report.summary(written, &[])));
    }
    let mut profile = audited.profile(how.samples.as_deref()).map_err(failed)?;
    each(files, |name, file, shown| profile.read(name, file, |progress| shown.show(name, progress)))?;
    let remarks = profile.remarks().to_vec();
    let (recording, meta) = profile.finish().map_err(failed)?;
    outputs.write(&recording, &meta).map_err(|why| {
        // What the audit has found is told all the same; whoever has seen enough is no mistake.
        let _ = stdout().write_all(report.summary(Files::default(), &remarks).as_bytes());
        failed(why)
    })?;
    Ok(outputs.told(|written| report.summary(written, &remarks)))
}

/// True if a file begins as gzip's do.
/// Why a file is none that can be audited.
fn refusal(file: &Path) -> Result<Option<String>, String> {
    let name = file.display();
    Ok(match document::kind(file)? {
        Kind::Recording => Some(format!(
            "is Vouch's own, and was judged as it was recorded: `vouch recover {name}` tells what came of it"
        )),
        Kind::Document if document::is_profile(file).is_ok() => Some(format!(
            "is Vouch's own, and has been judged: `vouch top {name}` tells how far it holds, `vouch explain {name} 1` what is wrong \
             with a stack that is refuted"
        )),
        _ if packed(file) => Some("is packed: gunzip it first".to_owned()),
        Kind::Document => Some(
            "cannot be audited: of all formats a Flight Recorder file (.jfr) alone says where in its bytecode each frame was; \
             async-profiler writes one, too (jfr, or -o jfr)"
                .to_owned(),
        ),
        Kind::FlightRecorder => None,
    })
}

fn packed(file: &Path) -> bool {
    let mut first = [0; 2];
    file.is_file()
        && File::open(file).is_ok_and(|mut file| file.read_exact(&mut first).is_ok())
        && first == [0x1f, 0x8b]
}

fn check(how: &How) -> Result<(), String> {
    if let Some(path) = how.classes.iter().chain(&how.jdk).find(|path| !path.exists()) {
        return Err(format!("{} is not there", path.display()));
    }
    if how.compare && (how.report.is_some() || !how.out.is_empty()) {
        return Err("--report and --out are of one audit: leave --compare out".to_owned());
    }
    Ok(())
}

fn judged(files: &[PathBuf], places: &Places) -> Result<Audited, String> {
    let mut audit = Audit::default();
    each(files, |name, file, shown| audit.read(name, file, |progress| shown.show(name, progress)))?;
    let mut shown = Shown::default();
    audit.judge(places, |progress| shown.show("", progress))
}

/// Opens each of the files in turn.
fn each(
    files: &[PathBuf],
    mut read: impl FnMut(&str, BufReader<File>, &mut Shown) -> Result<(), String>,
) -> Result<(), String> {
    for path in files {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("{name} cannot be read: {error}"))?;
        read(&name, BufReader::with_capacity(1 << 20, file), &mut Shown::default())?;
    }
    Ok(())
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
