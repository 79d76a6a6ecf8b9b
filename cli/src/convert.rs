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
use vouch_report::grouped;

use crate::agent_options::VERBOSE_HELP;
use crate::document::{self, FileKind};
use crate::error::Error;
use crate::outputs::{self, Outputs};
use crate::parquet::{self, ServiceOptions, TableWriter};
use crate::recover;

/// The endings of files that a table takes from a folder.
const IN_A_FOLDER: [&str; 2] = [".otlp.gz", ".vouch"];
/// A larger profile is refused, because all of it is in memory at once.
const MAX_PROFILE_BYTES: u64 = 256 << 20;

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
    let is_table = |out: &Path| out.to_string_lossy().ends_with(parquet::FORMAT.ending);
    match (files, how.out.as_slice()) {
        (files, [out]) if is_table(out) && how.report.is_none() => write_table(files, out, &how.service),
        _ if !how.service.is_empty() => Err(Error::ServiceWithoutTable),
        ([file], _) => convert_recording(file, how),
        _ => Err(Error::SeveralToConvert),
    }
}

fn convert_recording(file: &Path, how: &ConvertOptions) -> Result<String, Error> {
    match document::kind(file)? {
        FileKind::Recording => {
            let made = recover::make(file, &how.out, how.report.as_deref(), recover::detail(how.verbose));
            made.map_err(|why| why.of_file(file))
        }
        FileKind::FlightRecorder => Err(Error::FlightRecorderToConvert(file.to_owned())),
        FileKind::Document => Err(Error::NotARecording(file.to_owned())),
    }
}

/// Writes the rows of all files to one table, a file at a time.
fn write_table(files: &[PathBuf], out: &Path, service: &ServiceOptions) -> Result<String, Error> {
    let files = with_files_of_folders(files)?;
    let outs = [out.to_owned()];
    let checked = Outputs::check(&outs, None, &files).map_err(|why| why.of_file(&files[0]))?;
    let (mut failure, mut rows) = (None, 0);
    let written = vouch_log::output::write_whole(out, false, |to| {
        let mut table = TableWriter::new(to)?;
        for file in &files {
            if let Err(why) = add_file(&mut table, file, service) {
                failure = Some(why);
                return Err(io::ErrorKind::Other.into());
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
    let profiles =
        if files.len() == 1 { "1 profile" } else { &format!("{} profiles", grouped(files.len() as u64)) };
    Ok(format!("wrote {name}: {profiles}, {} rows\n", grouped(rows)))
}

/// Returns the files, and those of each folder in the order of their names.
fn with_files_of_folders(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for path in paths {
        if !path.is_dir() {
            if !known.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                return Err(Error::NamedTwice(path.clone()));
            }
            all.push(path.clone());
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
        all.append(&mut found);
    }
    Ok(all)
}

fn add_file(table: &mut TableWriter<'_>, file: &Path, service: &ServiceOptions) -> Result<(), Error> {
    if document::kind(file)? == FileKind::Recording {
        let (read, _) = recover::read(file).map_err(|why| why.of_file(file))?;
        return Ok(parquet::add_recording(table, &read.recording, &read.meta, service)?);
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
    parquet::add_profile(table, &message, service).map_err(|why| Error::DamagedOtlp { path: path(), why })
}
