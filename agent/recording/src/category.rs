//! Whose code it is, as a person thinks of where the time went.

/// Whose code a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    Other,
    Application,
    Library,
    Jdk,
    Native,
    Vm(VmPart),
    /// Something contradicts the stack.
    Refuted,
    /// There are no frames; what stands in the stack's place says why.
    NoStack,
}

/// What the VM itself was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VmPart {
    Other,
    Gc,
    Jit,
}
