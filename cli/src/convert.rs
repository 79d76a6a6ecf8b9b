//! Implements `vouch convert`, which writes a recording in another format, or in several.
//!
//! It must accept only recordings. A profile no longer has the data that other formats are made
//! from.

use std::path::{Path, PathBuf};

use clap::Args;
use vouch_formats::Format;

use crate::agent_options::VERBOSE_HELP;
use crate::document::{self, FileKind};
use crate::error::Error;
use crate::recover;

#[derive(Args)]
pub struct ConvertOptions {
    #[arg(long, value_name = "FILE", required = true, help = out_help())]
    out: Vec<PathBuf>,
    /// Write the trust report as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[arg(long, help = VERBOSE_HELP)]
    verbose: bool,
}

fn out_help() -> String {
    format!(
        "Write this file, and replace it if it exists; the ending sets the format: {}; may be repeated",
        Format::endings()
    )
}

/// Writes the recording in each format that the user requests.
pub fn convert(file: &Path, how: &ConvertOptions) -> Result<String, Error> {
    match document::kind(file)? {
        FileKind::Recording => {
            let made = recover::make(file, &how.out, how.report.as_deref(), recover::detail(how.verbose));
            made.map_err(|why| why.of_file(file))
        }
        FileKind::FlightRecorder => Err(Error::FlightRecorderToConvert(file.to_owned())),
        FileKind::Document => Err(Error::NotARecording(file.to_owned())),
    }
}
