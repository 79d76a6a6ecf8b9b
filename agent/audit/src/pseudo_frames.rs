//! Frames that are no Java methods: native code, and what profilers write in the place of frames
//! that they could not find.
//!
//! It must never take a walk's own confession for a stack: what a profiler says it does not know is
//! counted, and not judged.

/// What stands for a frame that is no Java method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PseudoFrame {
    /// Code of the VM, of a library, of the kernel.
    Native,
    /// Where a thread begins.
    ThreadStart,
    /// The thread runs no Java.
    NoJava,
    /// The walk failed, or ended too early.
    WalkFailed,
    /// There was a method, which nobody could name: who is on both sides has not called each other.
    UnknownMethod,
}

/// Functions in which the C library begins a thread.
const THREAD_STARTS: [&str; 6] =
    ["start_thread", "clone3", "clone", "__clone", "__clone3", "thread_native_entry"];

/// AsyncGetCallTrace's codes as async-profiler writes them, and what its own walker says where it
/// stops. Its names for the latter begin alike.
const WALK_FAILURES: [&str; 10] = [
    "GC_active",
    "unknown_not_Java",
    "not_walkable_not_Java",
    "unknown_Java",
    "not_walkable_Java",
    "unknown_state",
    "thread_exit",
    "deoptimization",
    "safepoint",
    "skipped",
];
const WALK_BREAK_PREFIX: &str = "break_";
/// What it writes for methods that are gone, and for those that it has no id of.
const UNKNOWN_METHODS: [&str; 2] = ["stale_jmethodID", "unknown"];

/// What a frame of this library and name means; frames in the place of others are of none.
pub fn classify(library: &str, name: &str) -> PseudoFrame {
    match name {
        _ if THREAD_STARTS.contains(&name) => PseudoFrame::ThreadStart,
        "no_Java_frame" if library.is_empty() => PseudoFrame::NoJava,
        _ if library.is_empty() && (WALK_FAILURES.contains(&name) || name.starts_with(WALK_BREAK_PREFIX)) => {
            PseudoFrame::WalkFailed
        }
        _ if library.is_empty() && UNKNOWN_METHODS.contains(&name) => PseudoFrame::UnknownMethod,
        _ => PseudoFrame::Native,
    }
}
