//! The errors of this crate. The text about a signal is the rest of a sentence that names it.

use std::ffi::c_int;

use thiserror::Error;

/// The reason why threads cannot be sampled in the requested way.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{0}")]
    SignalInUse(&'static str),
    #[error("the JDK needs it to interrupt threads in blocking I/O")]
    SignalOfJdk,
    #[error("the last one is SIGRTMIN+{0}")]
    SignalBeyondLast(c_int),
    #[error("must be {} or SIGRTMIN+n", .0.join(", "))]
    UnknownSignal(Vec<&'static str>),
}
