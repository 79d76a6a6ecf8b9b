//! The errors of this crate. The texts about a pprof file, about the samples to show, and about a
//! changed file are the rest of a sentence that begins with the file's name.

use std::io;

use thiserror::Error;

/// The reason why a recording cannot be audited or shown as a profile.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{name} cannot be read: {why}")]
    Unreadable { name: String, why: io::Error },
    #[error("no part of {} can be read: {}", .files.join(", "), .first_damage.as_deref().unwrap_or("it is empty"))]
    NothingReadable { files: Vec<String>, first_damage: Option<String> },
    #[error(
        "these recordings are from {0} runs, which may have had different classes: audit each alone, or use --compare"
    )]
    SeveralRuns(usize),
    #[error(transparent)]
    Classes(#[from] vouch_classes::Error),
    #[error("cannot be read: {0}")]
    PprofUnreadable(io::Error),
    #[error("is larger than {} MiB, unpacked", .max_bytes >> 20)]
    PprofTooLarge { max_bytes: u64 },
    #[error("is a damaged pprof file: {0}")]
    PprofDamaged(#[from] prost::DecodeError),
    #[error("has no samples, or is not a pprof file")]
    PprofEmpty,
    #[error("has no samples {wanted}, but {}", if .clocks.is_empty() { "none at all".to_owned() } else { .clocks.join(", ") })]
    NoSuchSamples { wanted: String, clocks: Vec<String> },
    #[error("changed while it was read: audit a copy")]
    Changed,
}
