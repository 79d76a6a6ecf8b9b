//! Defines the values of options that accept only a few words.

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
    /// Record nothing, because a test uses the agent in another way.
    Lab,
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

/// Whether samples have native frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NativeWish {
    /// They have none for now.
    #[default]
    Auto,
    On,
    Off,
}

/// Whether native frames continue into the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelWish {
    /// They do where the engine and the system allow it.
    #[default]
    Auto,
    /// They do, or a warning says why they do not.
    On,
    Off,
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

/// How a JVM starts that cannot be profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The JVM ends with exit code 1.
    #[default]
    Stop,
    /// The JVM runs without a profile.
    Run,
}
