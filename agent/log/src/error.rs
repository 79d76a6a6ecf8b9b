//! The errors of this crate. A text about a file that is read is the rest of a sentence that begins
//! with the file's name. A text about a file to be written has its path.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a recording cannot be read, or a file cannot be written.
#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("is a recording of version {0}, which this version of Vouch cannot read: use a newer version")]
    UnknownVersion(u32),
    #[error("is empty, since its JVM had recorded nothing yet: remove it if that JVM has ended")]
    Empty,
    #[error("is not a recording (.vouch) by Vouch")]
    NotARecording,
    #[error("cannot be converted into a profile: its beginning is missing")]
    BeginningMissing,
    #[error("the folder of {0} does not exist: create it first")]
    FolderMissing(PathBuf),
    #[error("{0} is a folder: name a file")]
    IsAFolder(PathBuf),
    #[error("{path}: {obstacle}")]
    Irreplaceable { path: PathBuf, obstacle: Obstacle },
    #[error("{path}: cannot be written: {why}; choose another folder")]
    Unwritable { path: PathBuf, why: io::Error },
}

/// The reason why a file cannot replace another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Obstacle {
    #[error("is a pipe, a socket or a device, and a file would replace it: name a file")]
    SpecialFile,
    #[error("belongs to another user, and only that user may replace it in this folder: choose another name")]
    OtherUser,
    #[error("is a mount point, and cannot be replaced: mount its folder instead, or choose another name")]
    MountPoint,
}
