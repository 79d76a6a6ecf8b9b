//! The certainty of the top frames of a stack.

/// How certain it is that the thread was in the methods shown on top of its stack. Proof only says
/// that a stack is possible. The variants are ordered from the least certain to the most certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The debug information around the instruction names different methods. The frames are the
    /// best guess.
    Approximate,
    /// The methods are certain. The line of the innermost method may be that of a neighbouring
    /// instruction.
    MethodCertain,
    /// Both the methods and the line are certain.
    Exact,
}

impl Certainty {
    /// All certainties, from the most to the least certain.
    pub const ALL: [Self; 3] = [Self::Exact, Self::MethodCertain, Self::Approximate];

    /// The certainty's name in texts for users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::MethodCertain => "method certain",
            Self::Approximate => "approximate",
        }
    }
}
