//! The CPU time of the agent's own threads that signal others.

use std::sync::atomic::{AtomicU64, Ordering};

/// The CPU time that engine threads have used, in nanoseconds.
static CPU: AtomicU64 = AtomicU64::new(0);

/// Returns the CPU time that engine threads have used, in nanoseconds.
pub fn cpu() -> u64 {
    CPU.load(Ordering::Relaxed)
}

/// Counts CPU time of an engine thread, in nanoseconds.
pub fn add_cpu(nanos: u64) {
    CPU.fetch_add(nanos, Ordering::Relaxed);
}
