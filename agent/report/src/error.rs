//! The errors of this crate. Each text is the rest of a sentence or follows a colon: the caller
//! names the option or the file.

use thiserror::Error;

/// The reason why an option's value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    #[error("must be one of {}", .0.join(", "))]
    UnknownWord(Vec<&'static str>),
    #[error("does not accept a length of time")]
    TakesNoLength,
    #[error("must be {words}, or a length of time: {why}")]
    NoLengthOrWord { words: String, why: Box<Error> },
    #[error("does not accept a size")]
    TakesNoSize,
    #[error("does not accept a number")]
    TakesNoNumber,
    #[error("must be between {least} and {most}")]
    OutOfRange { least: &'static str, most: &'static str },
    #[error("the unit is missing: write {0}ms or {0}s")]
    UnitMissing(String),
    #[error("must be a whole number with us, ms, s, m, h or d, such as 10ms")]
    NotALength,
    #[error("must be a whole number with KB, MB or GB, such as 64MB")]
    NotASize,
    #[error("must be off, sparing, or a rate from 1/s to 1000/s")]
    NotARate,
    #[error("must be a whole number from {least} to {most}")]
    NotACount { least: usize, most: usize },
    #[error("a file name is missing")]
    FileNameMissing,
    #[error("%t is replaced only inside the recorded JVM: choose a name without it")]
    TimeOutsideJvm,
    #[error("the environment variable {0} is not set")]
    VariableNotSet(String),
    #[error("after % there must be p, t, {{NAME}} or another %")]
    UnknownPattern,
}
