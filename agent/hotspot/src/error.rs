//! The errors of this crate. Each text is a sentence without its full stop.

use std::path::PathBuf;

use thiserror::Error;

/// The reason why a JVM cannot be profiled, or why Vouch's own walker cannot walk its stacks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    #[error("this JVM's library cannot be found, so the program runs unprofiled")]
    NoLibrary,
    #[error(
        "this JVM ({library}) has no AsyncGetCallTrace, so the program runs unprofiled: Vouch needs HotSpot, as in OpenJDK"
    )]
    NoAsyncGetCallTrace { library: PathBuf },
    #[error("the JVM is not up yet")]
    NotInitialized,
    #[error("this JVM does not publish where its code and its threads' stacks are")]
    CodeAndStacks,
    #[error("the layout of frames on this processor is not known yet")]
    UnknownProcessor,
    #[error("this JVM does not export its VMStructs")]
    NoVmStructs,
    #[error("this JVM does not publish where {field} is")]
    Offset { field: String },
    #[error("this JVM does not publish what {name} is")]
    Value { name: String },
    #[error("this JVM does not publish how large a {class} is")]
    Size { class: String },
    #[error("this JVM does not publish its version")]
    Version,
    #[error("this was not tried on a JDK 8 before its update 60")]
    EarlyJdk8,
    #[error("a vframeArray is too small")]
    VframeArraySize,
    #[error("this JVM's interpreter has no pieces of the names that are known")]
    Codelets,
}
