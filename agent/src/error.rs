//! The errors of the agent. Each text is a sentence for the user, except that a [`ValueError`],
//! a [`GuardError`] and an [`Unmerged`] are the rest of one.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::facade::JvmtiError;

/// The reason why the agent refuses an option, or cannot record.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{name} needs a value: {name}=…")]
    NeedsValue { name: String },
    #[error("{0} takes no value")]
    TakesNoValue(String),
    #[error("unknown key {name}: did you mean {near}?")]
    Misspelt { name: String, near: &'static str },
    #[error("unknown key {name}: the keys are {} (help explains them)", .keys.join(", "))]
    UnknownKey { name: String, keys: Vec<&'static str> },
    #[error("{0} is only for tests of Vouch: it needs their library, libvouch_lab.so (CONTRIBUTING.md)")]
    ForTests(String),
    #[error("{key}={value}: {why}")]
    Value { key: String, value: String, why: ValueError },
    #[error(transparent)]
    HotSpot(#[from] vouch_hotspot::Error),
    #[error(transparent)]
    Sampling(#[from] vouch_sampling::Error),
    #[error("this JVM provides no JVMTI environment: {0}")]
    NoJvmti(JvmtiError),
    #[error("this JVM refuses the events that sampling needs: {0}")]
    EventsRefused(JvmtiError),
    #[error("{key}={folder}: {why}")]
    Terminal { key: &'static str, folder: PathBuf, why: io::Error },
    #[error("the agent's thread could not be created")]
    ThreadNotMade,
    #[error("the agent's thread could not be started: {0}")]
    ThreadNotStarted(JvmtiError),
    #[error("engine {engine} could not be started: {why}")]
    EngineNotStarted { engine: &'static str, why: io::Error },
    #[error("this JVM's VMStructs are not as expected: threads that started before the agent have no stacks")]
    EarlierThreads,
    #[error("the calling thread's JavaThread cannot be found")]
    OwnJavaThread,
}

/// The reason why walks are not guarded. The text follows a colon.
#[derive(Debug, Error)]
pub enum GuardError {
    #[error("Vouch has no guard for this processor")]
    Processor,
    #[error("with -Xcheck:jni the JVM warns about every signal handler but its own")]
    CheckJni,
    #[error("the kernel does not report signal handlers: {0}")]
    HandlersUnknown(io::Error),
    #[error("the JVM has not installed its handlers for faults")]
    NoJvmHandlers,
    #[error("the kernel does not accept a handler: {0}")]
    HandlerRefused(io::Error),
}

/// The reason why the agent refuses an option's value.
#[derive(Debug, Error)]
pub enum ValueError {
    #[error(transparent)]
    Form(#[from] vouch_report::Error),
    #[error("not a regular expression: {0}")]
    Regex(#[from] regex_lite::Error),
    #[error("not a measure: use {}", .0.join(" or "))]
    Measure(Vec<&'static str>),
    #[error("the file name must end in {0}")]
    ProfileEnding(String),
    #[error("must end in .jfr: the file that the JVM's Flight Recorder writes")]
    JfrEnding,
    #[error("must end in .json")]
    ReportEnding,
    #[error("must be paths, separated by :")]
    NoSources,
    #[error("must be off, all, or some of {0} joined by +")]
    Strategy(String),
    #[error("{word} is not an event: use off, all, or names from default, {known} joined by +")]
    Event { word: String, known: String },
    #[error(transparent)]
    Signal(#[from] vouch_sampling::signal::SignalError),
}

/// The reason why a profile is written without what the options add to it.
#[derive(Debug, Error)]
pub enum Unmerged {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Profile(#[from] vouch_profile::Error),
    #[error(
        "{0} does not exist: the JVM writes it when it ends, with -XX:StartFlightRecording=filename={0}; \
         `vouch merge PROFILE {0}` does the same later"
    )]
    JfrMissing(PathBuf),
    #[error("{jfr} {why}")]
    JfrUnreadable { jfr: PathBuf, why: vouch_classes::Error },
    #[error("{jfr} is from another process ({pid})")]
    OtherProcess { jfr: PathBuf, pid: String },
}

/// The reason why parked virtual threads cannot be walked, or mounted ones not identified.
#[derive(Debug, Error)]
pub enum VirtualThreadsError {
    #[error(transparent)]
    HotSpot(#[from] vouch_hotspot::Error),
    #[error("the JVM could not create references")]
    NoReferences,
    #[error("virtual threads have no continuations")]
    NoContinuations,
    #[error("Java has no {0}")]
    NoClass(String),
    #[error("Java has no method {0}, by which virtual threads are entered")]
    NoMethod(String),
    #[error("Java does not publish the offset of the first array element")]
    ArrayBase,
    #[error("Java does not publish the offsets of fields")]
    NoUnsafe,
    #[error("Java does not publish the offset of {field} in {owners}")]
    FieldOffset { owners: &'static str, field: String },
    #[error("this JVM does not describe its code: {0}")]
    CodeNotDescribed(JvmtiError),
    #[error("this JVM has no return barrier of virtual threads with a known name")]
    NoReturnBarrier,
    #[error("this JVM's return barrier of virtual threads is unknown")]
    UnknownReturnBarrier,
    #[error("this JVM does not publish how an object refers to its class")]
    ClassPointers,
    #[error("this JVM does not publish how an object refers to another")]
    Oops,
    #[error("this JVM does not publish which classes it has")]
    NoClassList,
    #[error("this JVM does not publish {0}")]
    ClassNotListed(String),
    #[error("this JVM does not publish the size of a stack chunk")]
    ChunkSize,
}
