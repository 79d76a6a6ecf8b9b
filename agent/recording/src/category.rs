//! The categories of functions, and the names of placeholders in stacks.

use vouch_sample::Reason;

/// The category of a function: the part of the program or system that its code belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    Other,
    Application,
    Library,
    Jdk,
    /// Code of a library, or a native method.
    Native,
    /// The JVM's own code, called by a thread of the program.
    Jvm,
    Kernel,
    /// A thread of the VM's own.
    Vm(VmPart),
    /// The function is a placeholder for a refuted part of a stack.
    Refuted,
    /// The function is a placeholder for an unknown stack. Its name has the reason.
    NoStack,
    /// The function is the state of a thread that waits, which is the leaf of its stack.
    Waiting,
    /// The function is the class of an allocated object, which is the leaf of the stack that
    /// allocated it.
    Class,
}

/// The part of the VM that the thread was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VmPart {
    Other,
    Gc,
    Jit,
}

/// The name of the placeholder for missing frames of a stack that was deeper than a limit.
pub const FRAMES_LEFT_OUT: &str = "[frames left out]";

const NO_STACK: (&str, &str) = ("[no stack: ", "]");

/// Returns the name of the placeholder for a stack that is unknown for the reason `why`.
pub fn no_stack(why: &str) -> String {
    let (before, after) = NO_STACK;
    format!("{before}{why}{after}")
}

/// Returns the reasons for an unknown stack that Vouch itself has, each once. A profile of another
/// profiler's samples may have others.
pub fn all_no_stack_reasons() -> Vec<&'static str> {
    let mut reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.description()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// Returns the name of the placeholder that is the root of all stacks with this kind of refutation.
pub fn refuted_root(kind: &str) -> String {
    format!("[refuted: {kind}]")
}

/// Returns the reason in a placeholder's name that [`no_stack`] made.
pub fn why_no_stack(name: &str) -> Option<&str> {
    let (before, after) = NO_STACK;
    name.strip_prefix(before)?.strip_suffix(after)
}
