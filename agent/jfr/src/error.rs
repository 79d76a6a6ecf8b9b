//! The errors of this crate. Each text follows the file's name and a colon.

use std::io;

use thiserror::Error;

use crate::bytes::Damage;

/// The reason why a recording or one of its chunks cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is not a Flight Recorder file")]
    NotARecording,
    #[error("the next part is not a chunk")]
    NotAChunk,
    #[error("it ends in the header of a chunk")]
    HeaderCutShort,
    #[error("it has format {0}, and this version of vouch can read 1 and 2")]
    UnknownFormat(u16),
    #[error("its last chunk is still empty")]
    ChunkUnwritten,
    #[error("a chunk has {} MiB, and at most 1,024 are read", .bytes >> 20)]
    ChunkTooLarge { bytes: u64 },
    #[error("a chunk is incomplete ({0})")]
    ChunkCutShort(Damage),
    #[error("a chunk is damaged: {0}")]
    ChunkDamaged(Damage),
    #[error("a part of a chunk cannot be read ({0})")]
    PartUnreadable(Damage),
    #[error("it is empty")]
    Empty,
}
