//! Classifies frames that are not Java methods: native code, and what profilers write instead of
//! frames that they could not find.
//!
//! It must never take a profiler's report of failure for a frame: such samples are counted and not
//! judged.

/// A frame that is not a Java method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PseudoFrame {
    /// Native code of the VM, a library or the kernel.
    Native,
    /// The function in which a thread starts.
    ThreadStart,
    /// The thread runs no Java.
    NoJava,
    /// The walk failed or broke off.
    WalkFailed,
    /// A method that the profiler could not name, so the frames around it are not caller and
    /// callee.
    UnknownMethod,
}

/// Functions in which the C library or the JVM starts a thread.
const THREAD_STARTS: [&str; 6] =
    ["start_thread", "clone3", "clone", "__clone", "__clone3", "thread_native_entry"];

/// AsyncGetCallTrace's error codes in async-profiler's spelling, and the reasons of
/// async-profiler's walker.
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
/// The prefix of other reasons for which async-profiler's walker breaks off.
const WALK_BREAK_PREFIX: &str = "break_";
/// async-profiler's names for methods that were unloaded or have no id.
const UNKNOWN_METHODS: [&str; 2] = ["stale_jmethodID", "unknown"];

/// Classifies a frame by its library and name. Names of failures have no library.
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
