//! The options of the user that the stages from lane to recording depend on.

use std::time::Duration;

/// How often a sample is compared with GetStackTrace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Witnessing {
    /// Samples are compared as often as the cost stays negligible.
    #[default]
    Auto,
    Off,
    Every(Duration),
}

/// The ways in which a profile can show refuted stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refuted {
    /// Refuted stacks are shown apart from the others.
    #[default]
    Isolate,
    /// Refuted stacks are shown among the others.
    Keep,
    /// The frames of refuted stacks are hidden. Their time is still counted.
    Drop,
}

/// The ways in which a profile can name methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FunctionNames {
    /// A method is named with its package: `com.foo.Bar.baz`.
    #[default]
    Full,
    /// A method is named without its package: `Bar.baz`. The file name carries the package.
    Short,
}

/// The user's choices of how the recorded data is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Showing {
    pub refuted: Refuted,
    pub names: FunctionNames,
}
