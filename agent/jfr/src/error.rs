//! The errors of this crate. Each text follows the file's name and a colon.

use std::io;

use thiserror::Error;

use crate::bytes::Damage;

/// The reason why a recording or one of its chunks cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is no Flight Recorder file")]
    NotARecording,
    #[error("what follows is no chunk")]
    NotAChunk,
    #[error("it ends in the header of a chunk")]
    HeaderCutShort,
    #[error("it has format {0}, and this vouch knows 1 and 2")]
    UnknownFormat(u16),
    #[error("its last chunk was begun, and nothing of it was written yet")]
    ChunkUnwritten,
    #[error("a chunk of {} MiB, and 1,024 are the most", .bytes >> 20)]
    ChunkTooLarge { bytes: u64 },
    #[error("a chunk is cut short ({0})")]
    ChunkCutShort(Damage),
    #[error("a chunk is damaged: {0}")]
    ChunkDamaged(Damage),
    #[error("a part of a chunk cannot be read ({0})")]
    PartUnreadable(Damage),
    #[error("it is empty")]
    Empty,
}
