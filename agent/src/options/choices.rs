//! Defines the values of options that accept only a few words.

use std::time::Duration;

/// The action that the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verb {
    #[default]
    Start,
    Stop,
    Dump,
    Status,
    /// Print the costs of groups of tasks, as JSON.
    Groups,
    /// Record nothing. Print what a recording would be like.
    Check,
    /// Record nothing. Serve the natives of `dev.vouch.Oracle`.
    Lab,
}

/// The engine that the user asked for.
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

/// How often a sample is witnessed by GetStackTrace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Witnessing {
    /// As often as the cost stays negligible.
    #[default]
    Auto,
    Off,
    Every(Duration),
}

/// The walker of each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WalkerWish {
    /// Our own walker. Where it finds no stack, AsyncGetCallTrace follows.
    #[default]
    Auto,
    Asgct,
    Own,
    /// Both walkers, always. Proof decides which stack is right.
    Both,
}

/// How refuted stacks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refuted {
    /// They are shown apart from the others.
    #[default]
    Isolate,
    /// They are shown among the others.
    Keep,
    /// Their frames are hidden. Their time is still counted.
    Drop,
}

/// How a profile names methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FunctionNames {
    /// `com.foo.Bar.baz`
    #[default]
    Full,
    /// `Bar.baz`. The file name carries the package.
    Short,
}

/// How long the recording stays on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDisk {
    /// The recording is deleted once the profile is written.
    #[default]
    On,
    /// The recording is never deleted.
    Keep,
    Off,
}

/// How the recorded data is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Showing {
    pub refuted: Refuted,
    pub names: FunctionNames,
}

/// How a JVM starts that cannot be profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The JVM ends with exit code 1.
    #[default]
    Stop,
    /// The JVM runs without a profile.
    Run,
}
