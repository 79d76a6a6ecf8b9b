//! The errors of this crate. Each text is the rest of a sentence that begins with a file's path,
//! except where the text has a path.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a class, an archive or a JDK cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot be read: {0}")]
    Unopenable(io::Error),
    #[error("is not a file")]
    NotAFile,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("is longer than {} MiB", .max_bytes >> 20)]
    TooLong { max_bytes: u64 },
    #[error(transparent)]
    Archive(#[from] rawzip::Error),
    #[error("there are more than {limit} entries")]
    TooManyEntries { limit: usize },
    #[error(transparent)]
    ClassFile(#[from] noak::error::DecodeError),
    #[error("its name is not UTF-8")]
    ClassName,
    #[error("is not a JDK image (lib/modules)")]
    NotAnImage,
    #[error("is a JDK image with a damaged index")]
    ImageIndex,
    #[error("does not exist")]
    NotInImage,
    #[error("has an offset outside of the file")]
    Offset,
    #[error("is incomplete")]
    Truncated,
    #[error("is too large")]
    TooLarge,
    #[error("is compressed by an unknown method: {}", .0.as_deref().unwrap_or("it has no name"))]
    Compression(Option<String>),
    #[error("{path} {why}")]
    Image { path: PathBuf, why: Box<Error> },
    #[error("{0} is not a JDK: it has neither lib/modules nor jmods nor lib/rt.jar")]
    NotAJdk(PathBuf),
}
