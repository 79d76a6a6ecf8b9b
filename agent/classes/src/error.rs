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
    #[error("is no file")]
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
    #[error("its name is no UTF-8")]
    ClassName,
    #[error("is no image of modules")]
    NotAnImage,
    #[error("is an image with an index that cannot be")]
    ImageIndex,
    #[error("is not there")]
    NotInImage,
    #[error("is nowhere")]
    Offset,
    #[error("is cut short")]
    Truncated,
    #[error("is too large")]
    TooLarge,
    #[error("is packed in a way that is not known: {}", .0.as_deref().unwrap_or("it has no name"))]
    Compression(Option<String>),
    #[error("{path} {why}")]
    Image { path: PathBuf, why: Box<Error> },
    #[error("{0} is no JDK: it has neither lib/modules nor jmods nor lib/rt.jar")]
    NotAJdk(PathBuf),
}
