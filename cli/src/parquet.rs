//! The Parquet format, which engines such as DuckDB and Spark read by the folder.
//!
//! A row is the part of a profile with one stack, measure, thread, trace and interval. It must
//! never lose a sample: the values of all rows of a measure add up to those of the profile.
//!
//! Only the command writes it. The agent's formats are those of `vouch_formats`.

use std::io::{self, Write};

use opentelemetry_proto::tonic::profiles::v1development::ProfilesData;
use prost::Message;
use vouch_formats::{Format, Meta};
use vouch_recording::Recording;

pub use service::ServiceOptions;
pub use write::TableWriter;

mod columns;
mod rows;
mod service;
mod write;

/// The format, as a row beside those of `vouch_formats`.
pub static FORMAT: Format = Format { ending: ".parquet", gzip: false, opens: false, write };

/// Writes a recording.
fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = TableWriter::new(out)?;
    add_recording(&mut writer, recording, meta, &ServiceOptions::default())?;
    writer.finish()
}

/// Adds the rows of a recording. They are made of its OpenTelemetry profile, so both formats have
/// the same names and values.
pub fn add_recording(
    writer: &mut TableWriter<'_>,
    recording: &Recording,
    meta: &Meta,
    service: &ServiceOptions,
) -> io::Result<()> {
    let mut message = Vec::new();
    let otlp = Format::from_file_name(".otlp.gz").ok_or(io::ErrorKind::Unsupported)?;
    otlp.write(recording, meta, &mut message)?;
    add_profile(writer, decoded(&message)?, service)
}

/// Returns the OpenTelemetry profile with these bytes.
pub fn decoded(message: &[u8]) -> io::Result<ProfilesData> {
    ProfilesData::decode(message).map_err(io::Error::other)
}

/// Adds the rows of an OpenTelemetry profile.
pub fn add_profile(
    writer: &mut TableWriter<'_>,
    profile: ProfilesData,
    service: &ServiceOptions,
) -> io::Result<()> {
    rows::each_row(profile, service, |row| writer.add(row))
}
