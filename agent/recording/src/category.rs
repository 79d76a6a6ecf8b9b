//! Whose code it is, as a person thinks of where the time went; and what stands where nobody knows.

use vouch_sample::Reason;

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
    /// The class of an allocated object, as the leaf of the stack that allocated it.
    Class,
}

/// What the VM itself was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VmPart {
    Other,
    Gc,
    Jit,
}

/// What stands in a stack in the place of frames that are lacking, for want of room.
pub const LEFT_OUT: &str = "[frames left out]";

const NO_STACK: (&str, &str) = ("[no stack: ", "]");

/// What stands in the place of a stack that nobody knows, for this reason.
pub fn no_stack(why: &str) -> String {
    let (before, behind) = NO_STACK;
    format!("{before}{why}{behind}")
}

/// The reasons that Vouch itself has, each once. A profile of somebody else's samples may have
/// others.
pub fn own_reasons() -> Vec<&'static str> {
    let mut reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.description()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// What stands as the root of the stacks that are refuted in this way, apart from all others.
pub fn refuted_root(kind: &str) -> String {
    format!("[refuted: {kind}]")
}

/// The reason again.
pub fn why_no_stack(name: &str) -> Option<&str> {
    let (before, behind) = NO_STACK;
    name.strip_prefix(before)?.strip_suffix(behind)
}
