//! How the frames on top of a stack are known.

/// How well it is known which methods are on top of a stack. Proof says that a stack is possible;
/// this says whether the thread was in the method shown on top. Ordered from the least certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The debug information around the instruction names different methods. The frames are the
    /// best guess.
    Approximate,
    /// The methods are certain. The line of the innermost one may be a neighbour's.
    MethodCertain,
    /// Method and line are certain.
    Exact,
}

impl Certainty {
    pub const ALL: [Self; 3] = [Self::Exact, Self::MethodCertain, Self::Approximate];
}
