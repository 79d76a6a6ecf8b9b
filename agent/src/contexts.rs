//! Contexts name the work that the program's threads do. Each thread has a `ThreadContext` with its
//! present context and trace. Contexts last as long as the process, because the program keeps their
//! numbers. So their number is limited. A number is never reused for another context. A thread's
//! Java code writes its own and its own signal handler reads it, so neither waits.
//!
//! # Invariants
//!
//! **Invariant 21.** No sample is under a context, or in a trace, that its thread was not in. If
//! that is unknown, the sample is under the context around it, or under none. (A `close` for which
//! the stack has no room leaves a thread in its context. A trace that a tracer publishes is what
//! the tracer says of the running thread, also while that thread carries a virtual one.) Held by:
//! `java-tests/contexts`, `java-tests/files`; `collect/src/record/tests/contexts.rs`,
//! `mounted_vthread.rs` and `traces.rs` beside it.

pub mod mounted_vthread;
pub mod natives;
pub mod otel_thread_context;

use once_cell::sync::Lazy;
use vouch_collect::contexts::Contexts;

static CONTEXTS: Lazy<Contexts> = Lazy::new(Contexts::default);

/// Returns the contexts of the process.
pub fn contexts() -> &'static Contexts {
    &CONTEXTS
}
