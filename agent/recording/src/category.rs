//! The category of a function, and the names of placeholders for unknown stacks.

use vouch_sample::Reason;

/// The category of a function: the part of the program or system that its code belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    Other,
    Application,
    Library,
    Jdk,
    Native,
    Vm(VmPart),
    /// The placeholder for a refuted part of a stack.
    Refuted,
    /// The placeholder for an unknown stack. Its name has the reason.
    NoStack,
    /// The class of an allocated object, as the leaf of the stack that allocated it.
    Class,
}

/// The part of the VM that was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VmPart {
    Other,
    Gc,
    Jit,
}

/// The placeholder for frames that are missing, since a stack was deeper than a limit.
pub const FRAMES_LEFT_OUT: &str = "[frames left out]";

const NO_STACK: (&str, &str) = ("[no stack: ", "]");

/// The name of the placeholder for a stack that is unknown for this reason.
pub fn no_stack(why: &str) -> String {
    let (before, after) = NO_STACK;
    format!("{before}{why}{after}")
}

/// The reasons of Vouch itself for an unknown stack, each once. A profile of another profiler's
/// samples may have others.
pub fn all_no_stack_reasons() -> Vec<&'static str> {
    let mut reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.description()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// The name of the placeholder that is the root of all stacks with this kind of refutation.
pub fn refuted_root(kind: &str) -> String {
    format!("[refuted: {kind}]")
}

/// The reason in a name that [`no_stack`] made.
pub fn why_no_stack(name: &str) -> Option<&str> {
    let (before, after) = NO_STACK;
    name.strip_prefix(before)?.strip_suffix(after)
}
