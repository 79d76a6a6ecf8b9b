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
#[cfg(test)]
mod tests;

use once_cell::sync::Lazy;
use parking_lot::Mutex;
use vouch_collect::contexts::Contexts;
use vouch_signal::thread_context::ThreadContext;

static CONTEXTS: Lazy<Contexts> = Lazy::new(Contexts::default);
static THREAD_CONTEXTS: ThreadContextPool = ThreadContextPool::new();

/// Returns the contexts of the process.
pub fn contexts() -> &'static Contexts {
    &CONTEXTS
}

/// Returns the unused thread contexts of the process.
pub fn thread_contexts() -> &'static ThreadContextPool {
    &THREAD_CONTEXTS
}

/// A thread's present context and trace. It is alone in its cache line, because each change
/// of context writes to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct PaddedThreadContext(ThreadContext);

impl PaddedThreadContext {
    pub fn thread_context(&self) -> &ThreadContext {
        &self.0
    }
}

/// The thread contexts that no thread uses. None is ever freed, because a handler may read it at
/// any time.
#[derive(Debug)]
pub struct ThreadContextPool(Mutex<Vec<&'static PaddedThreadContext>>);

impl ThreadContextPool {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns an empty thread context, for one thread.
    pub fn take(&self) -> &'static PaddedThreadContext {
        let free = self.0.lock().pop();
        let thread_context = free.unwrap_or_else(|| Box::leak(Box::default()));
        thread_context.0.clear();
        thread_context
    }

    /// Takes back the thread context of a thread that runs no Java code any more.
    pub fn put_back(&self, thread_context: &'static PaddedThreadContext) {
        self.0.lock().push(thread_context);
    }
}
