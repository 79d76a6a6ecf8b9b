//! How far a stack can be trusted.

/// How far a stack can be trusted. It says nothing of what the thread was executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Every edge of the stack is proven, and its root is right.
    Proven,
    /// Nothing contradicts the stack, but not every edge is proven.
    Plausible,
    /// Proof or a witness contradicts the stack.
    Refuted,
    /// No walk found frames.
    Unwalked,
    /// The stack has no Java frames, so no check applies.
    Unchecked,
}
