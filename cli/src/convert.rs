//! Implements `vouch convert`, which writes a recording in another format, or in several. A table
//! (.parquet) may have many profiles.
//!
//! It must accept only recordings, except for a table. A profile no longer has the data that other
//! formats are made from.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use clap::Args;
use opentelemetry_proto::tonic::profiles::v1development::ProfilesData;
use vouch_log::Recovered;
use vouch_report::{grouped, plain};

use crate::agent_options::VERBOSE_HELP;
use crate::document::{self, FileKind};
use crate::error::Error;
use crate::outputs::{self, Outputs};
use crate::parquet::{self, ServiceOptions, TableWriter};
use crate::recover;

/// The endings of files that a table takes from a folder.
const IN_A_FOLDER: [&str; 2] = [".otlp.gz", ".vouch"];
/// A larger profile is refused, because all of it is in memory at once.
const MAX_PROFILE_BYTES: u64 = 64 << 20;
/// How many notes on files are printed.
const MAX_NOTES: usize = 10;

#[derive(Args)]
pub struct ConvertOptions {
    #[arg(long, value_name = "FILE", required = true, help = out_help())]
    out: Vec<PathBuf>,
    /// Write the trust report as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    service: ServiceOptions,
    #[arg(long, help = VERBOSE_HELP)]
    verbose: bool,
}

fn out_help() -> String {
    format!(
        "Write this file, and replace it if it exists; the ending sets the format: {}; may be repeated",
        outputs::endings()
    )
}

/// Writes the files in each format that the user requests.
pub fn convert(files: &[PathBuf], how: &ConvertOptions) -> Result<String, Error> {
    match (files, how.out.as_slice()) {
        (files, [out]) if is_table(out) && how.report.is_none() => write_table(files, out, &how.service),
        _ if !how.service.is_empty() => Err(Error::ServiceWithoutTable),
        ([file], _) => convert_recording(file, how),
        _ => Err(Error::SeveralToConvert),
    }
}

fn is_table(out: &Path) -> bool {
    out.to_string_lossy().ends_with(parquet::FORMAT.ending)
}

fn convert_recording(file: &Path, how: &ConvertOptions) -> Result<String, Error> {
    match document::kind(file)? {
        FileKind::Recording => {
            let made = recover::make(file, &how.out, how.report.as_deref(), recover::detail(how.verbose));
            made.map_err(|why| why.of_file(file))
        }
        FileKind::FlightRecorder => Err(Error::FlightRecorderToConvert(file.to_owned())),
        FileKind::Document if how.out.iter().any(|out| is_table(out)) => Err(Error::SeveralToConvert),
        FileKind::Document => Err(Error::NotARecording(file.to_owned())),
    }
}

/// Writes the rows of all files to one table, a file at a time. Files of a folder that cannot be
/// read are left out, and named.
fn write_table(paths: &[PathBuf], out: &Path, service: &ServiceOptions) -> Result<String, Error> {
    let files = with_files_of_folders(paths)?;
    let outs = [out.to_owned()];
    let all: Vec<PathBuf> = files.iter().map(|source| source.path.clone()).collect();
    let checked = Outputs::check(&outs, None, &all).map_err(|why| why.of_file(&all[0]))?;
    let (mut failure, mut notes, mut rows, mut profiles) = (None, Vec::new(), 0, 0_u64);
    let written = vouch_log::output::write_whole(out, false, |to| {
        let mut table = TableWriter::new(to)?;
        for source in &files {
            match read(source) {
                Ok(read) => {
                    notes.extend(read.note());
                    read.add_to(&mut table, service)?;
                    profiles += 1;
                }
                Err(why) if source.is_of_folder => notes.push(format!("left out: {why}")),
                Err(why) => {
                    failure = Some(why);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        rows = table.rows();
        table.finish()
    });
    if let Some(why) = failure {
        return Err(why);
    }
    written.map_err(|why| Error::Unwritable { path: out.to_owned(), why })?;
    let name = checked.with_names(|names| outputs::name_with_note(out, names.has_replaced));
    let what = if profiles == 1 { "profile" } else { "profiles" };
    let left = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    if left > 0 {
        notes.push(format!("{} more notes of this kind", grouped(left as u64)));
    }
    let notes: String = notes.iter().map(|note| plain(note) + "\n").collect();
    Ok(format!("{notes}wrote {name}: {} {what}, {} rows\n", grouped(profiles), grouped(rows)))
}

/// A file that becomes rows.
struct Source {
    path: PathBuf,
    /// True if the user has named its folder, and not the file.
    is_of_folder: bool,
}

/// Returns the files, and those of each folder in the order of their names.
fn with_files_of_folders(paths: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    let mut is_new = |path: &PathBuf| known.insert(path.canonicalize().unwrap_or_else(|_| path.clone()));
    for path in paths {
        if !path.is_dir() {
            if !is_new(path) {
                return Err(Error::NamedTwice(path.clone()));
            }
            all.push(Source { path: path.clone(), is_of_folder: false });
            continue;
        }
        let unreadable = |why| Error::unreadable(path, why);
        let entries: io::Result<Vec<_>> = fs::read_dir(path).map_err(unreadable)?.collect();
        let names = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path());
        let ends = |name: &str| IN_A_FOLDER.iter().any(|ending| name.ends_with(ending));
        let mut found: Vec<PathBuf> = names.filter(|path| ends(&path.to_string_lossy())).collect();
        if found.is_empty() {
            return Err(Error::FolderWithoutProfiles(path.clone()));
        }
        found.sort();
        // With recording=keep the recording of a profile is beside it.
        let has_profile = |path: &Path| path.with_extension("otlp.gz").is_file();
        found.retain(|path| path.extension().is_none_or(|ending| ending != "vouch") || !has_profile(path));
        let found = found.into_iter().filter(&mut is_new);
        all.extend(found.map(|path| Source { path, is_of_folder: true }));
    }
    Ok(all)
}

/// The content of a file, before it becomes rows.
enum Content {
    Recording { path: PathBuf, read: Box<Recovered>, in_use: bool },
    Profile(ProfilesData),
}

impl Content {
    fn add_to(self, table: &mut TableWriter<'_>, service: &ServiceOptions) -> io::Result<()> {
        match self {
            Self::Recording { read, .. } => {
                parquet::add_recording(table, &read.recording, &read.meta, service)
            }
            Self::Profile(profile) => parquet::add_profile(table, profile, service),
        }
    }

    /// Returns what the file lacks.
    fn note(&self) -> Option<String> {
        let Self::Recording { path, read, in_use } = self else { return None };
        recover::ended(*in_use, &read.found).map(|note| format!("{}: {note}", path.display()))
    }
}

fn read(source: &Source) -> Result<Content, Error> {
    let file = source.path.as_path();
    if document::kind(file)? == FileKind::Recording {
        let (read, in_use) = recover::read(file).map_err(|why| why.of_file(file))?;
        if in_use && source.is_of_folder {
            return Err(Error::StillRecorded(file.to_owned()));
        }
        return Ok(Content::Recording { path: file.to_owned(), read: Box::new(read), in_use });
    }
    let mut bytes = document::unpacked(file)?;
    let first = bytes.fill_buf().map_err(|why| document::unreadable(file, why))?;
    if !document::is_otlp(first) {
        return Err(Error::NoRows(file.to_owned()));
    }
    let path = || file.to_owned();
    let message = document::bytes(file, bytes, MAX_PROFILE_BYTES)?;
    let message =
        message.ok_or_else(|| Error::OtlpTooLarge { path: path(), most_mib: MAX_PROFILE_BYTES >> 20 })?;
    parquet::decoded(&message).map(Content::Profile).map_err(|why| Error::DamagedOtlp { path: path(), why })
}
