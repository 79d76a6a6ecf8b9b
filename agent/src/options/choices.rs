//! The values that an option can have, where they are a few words.

use std::time::Duration;

/// What the user wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verb {
    #[default]
    Start,
    Stop,
    Dump,
    Status,
    /// What groups of tasks have taken is said, as JSON.
    Groups,
    /// No recording: what one would be like is said.
    Check,
    /// No recording: the natives of `dev.vouch.Oracle` are to be served.
    Lab,
}

/// Which engine was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineWish {
    #[default]
    Auto,
    Perf,
    Timer,
    Itimer,
    Poll,
    Hammer,
}

/// How often a sample is to be witnessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Witnessing {
    /// As often as costs next to nothing.
    #[default]
    Auto,
    Off,
    Every(Duration),
}

/// By whom each sample is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WalkerWish {
    /// By our own, and where that finds no stack by AsyncGetCallTrace.
    #[default]
    Auto,
    Asgct,
    Own,
    /// Always by both; proof says which account holds.
    Both,
}

/// What becomes of stacks that are refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refuted {
    /// They are shown apart from the others.
    #[default]
    Isolate,
    /// They are shown among the others.
    Keep,
    /// Their frames are not shown; their time is.
    Drop,
}

/// How methods are called in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FunctionNames {
    /// `com.foo.Bar.baz`
    #[default]
    Full,
    /// `Bar.baz`: the package is that of the file.
    Short,
}

/// What becomes of the recording on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDisk {
    /// It is there until the profile is.
    #[default]
    On,
    /// It stays.
    Keep,
    Off,
}

/// How what was recorded is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Showing {
    pub refuted: Refuted,
    pub names: FunctionNames,
}

/// What becomes of a JVM that cannot be profiled at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It ends with exit code 1.
    #[default]
    Stop,
    /// It runs without a profile.
    Run,
}
