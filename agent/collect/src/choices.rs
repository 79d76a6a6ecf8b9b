//! The options that the stages depend on.

use std::time::Duration;

/// How often a sample is witnessed by GetStackTrace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Witnessing {
    /// As often as the cost stays negligible.
    #[default]
    Auto,
    Off,
    Every(Duration),
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

/// How the recorded data is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Showing {
    pub refuted: Refuted,
    pub names: FunctionNames,
}
