//! Implements `vouch audit`, which checks other profilers' recordings against the bytecode.
//!
//! It must never write over a recording.

mod names;

use std::fs::File;
use std::io::{BufReader, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use vouch_audit::{Audit, Audited, ClassPaths, Progress, side_by_side};
use vouch_formats::Format;
use vouch_report::Files;

use crate::document::{self, FileKind};
use crate::error::Error;
use crate::outputs::Outputs;

use names::Form;

#[derive(Args)]
pub struct AuditOptions {
    /// Read the program's classes from these folders, jars and wars, separated by `:`; may be
    /// repeated [default: what a .jfr says of its class path]
    #[arg(long, value_name = "PATH", value_delimiter = ':')]
    classes: Vec<PathBuf>,
    /// Read the JDK's classes from this home of the JDK that ran [default: where a .jfr says that
    /// it was]
    #[arg(long, value_name = "HOME")]
    jdk: Option<PathBuf>,
    /// Refute by names and lines alone, too: the classes are exactly those that ran, and no agent
    /// changed them
    #[arg(long)]
    exact: bool,
    /// Write all counts and refutations as JSON, also for `vouch explain`
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = out_help())]
    out: Vec<PathBuf>,
    /// Choose the samples, where the recording has several kinds, such as profiler.WallClockSample
    /// [default: CPU time before others, wall clock last]
    #[arg(long, value_name = "KIND", requires = "out")]
    samples: Option<String>,
    /// Audit each recording by itself, and list them side by side
    #[arg(long)]
    compare: bool,
}

fn out_help() -> String {
    format!(
        "Write the recording as a profile, refuted stacks apart, and replace the file if it exists; the ending sets the format: {}; may be repeated",
        Format::endings()
    )
}

/// Audits the recordings, and returns the text to print.
pub fn audit(files: &[PathBuf], how: &AuditOptions) -> Result<String, Error> {
    for file in files {
        if file.is_dir() {
            return Err(Error::FolderToAudit(file.clone()));
        }
    }
    let read = files.iter().map(|file| reading(file)).collect::<Result<Vec<_>, _>>()?;
    check(how)?;
    if !how.compare {
        check_one_run(files, &read, how)?;
    }
    let first = files.first().cloned().unwrap_or_default();
    let failed = |why: Error| why.of_file(&first);
    let outputs = Outputs::check(&how.out, how.report.as_deref(), files).map_err(failed)?;
    let paths = ClassPaths { classes: how.classes.clone(), jdk: how.jdk.clone(), exact: how.exact };
    if how.compare {
        let one = |(file, read): (&PathBuf, &Read)| Ok::<_, Error>(judged([(file, *read)], &paths)?.report);
        let reports = files.iter().zip(&read).map(one).collect::<Result<Vec<_>, _>>()?;
        return Ok(side_by_side(&reports));
    }
    let audited = judged(files.iter().zip(read), &paths)?;
    outputs
        .write_report(|to| serde_json::to_writer_pretty(to, &audited.report).map_err(Into::into))
        .map_err(failed)?;
    let report = audited.report.clone();
    if !outputs.has_profiles() {
        return Ok(outputs.with_names(|written| report.summary(written, &[])));
    }
    let mut profile = audited.profile(how.samples.as_deref()).map_err(|why| failed(why.into()))?;
    read_each(files, |name, file, shown| profile.read(name, file, |progress| shown.show(name, progress)))?;
    let remarks = profile.remarks().to_vec();
    let (recording, meta) = profile.finish().map_err(|why| failed(why.into()))?;
    outputs.write(&recording, &meta).map_err(|why| {
        // The audit's result is printed all the same. A closed pipe is no mistake.
        let _ = stdout().write_all(report.summary(Files::default(), &remarks).as_bytes());
        failed(why)
    })?;
    Ok(outputs.with_names(|written| report.summary(written, &remarks)))
}

/// A kind of file that can be audited.
#[derive(Clone, Copy)]
enum Read {
    /// A file with the bytecode index of each frame.
    Places,
    Names(Form),
}

/// Returns how a file can be audited.
fn reading(file: &Path) -> Result<Read, Error> {
    match document::kind(file)? {
        FileKind::Recording => Err(Error::OwnRecording(file.to_owned())),
        FileKind::FlightRecorder => Ok(Read::Places),
        FileKind::Document => match names::kind(file)? {
            Some(form) => Ok(Read::Names(form)),
            None => Err(Error::NotAuditable(file.to_owned())),
        },
    }
}

fn check(how: &AuditOptions) -> Result<(), Error> {
    if let Some(path) = how.classes.iter().chain(&how.jdk).find(|path| !path.exists()) {
        return Err(Error::NotThere(path.clone()));
    }
    if how.compare && (how.report.is_some() || !how.out.is_empty()) {
        return Err(Error::CompareWithOutput);
    }
    Ok(())
}

/// Checks that several files can be audited as one run. A file that has only names of frames
/// cannot, because it has no times.
fn check_one_run(files: &[PathBuf], read: &[Read], how: &AuditOptions) -> Result<(), Error> {
    let Some(named) = read.iter().position(|read| matches!(read, Read::Names(_))) else { return Ok(()) };
    if files.len() > 1 {
        return Err(Error::NamesAmongOthers(files[named].clone()));
    }
    if !how.out.is_empty() {
        return Err(Error::NamesAsProfile(files[named].clone()));
    }
    Ok(())
}

fn judged<'f>(
    files: impl IntoIterator<Item = (&'f PathBuf, Read)>,
    paths: &ClassPaths,
) -> Result<Audited, Error> {
    let mut audit = Audit::default();
    for (file, read) in files {
        let (name, mut shown) = (file.display().to_string(), Shown::default());
        match read {
            Read::Places => read_each(std::slice::from_ref(file), |name, file, shown| {
                audit.read(name, file, |progress| shown.show(name, progress))
            })?,
            Read::Names(form) => {
                names::read(&mut audit, file, form, |progress| shown.show(&name, progress))?;
            }
        }
    }
    let mut shown = Shown::default();
    Ok(audit.judge(paths, |progress| shown.show("", progress))?)
}

/// Opens the files one after another, and reads each.
fn read_each(
    files: &[PathBuf],
    mut read: impl FnMut(&str, BufReader<File>, &mut Shown) -> Result<(), vouch_audit::Error>,
) -> Result<(), Error> {
    for path in files {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|why| Error::unreadable(path, why))?;
        read(&name, BufReader::with_capacity(1 << 20, file), &mut Shown::default())?;
    }
    Ok(())
}

/// Shows the progress on a terminal, in a line that is written over.
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
