//! Contexts name the work that the program's threads do. Each thread has a cell with its present
//! context and trace.
//! Contexts last as long as the process, because the program keeps their numbers. So their number
//! is limited. A number is never reused for another context. A thread's Java code writes its cell
//! and its own signal handler reads it, so neither waits.
//!
//! # Invariants
//!
//! **Invariant 21.** No sample is under a context, or in a trace, that its thread was not in. If
//! that is unknown, the sample is under the context around it, or under none. (A `close` for which
//! the stack has no room leaves a thread in its context. A trace that a tracer publishes is what
//! the tracer says of the running thread, also while that thread carries a virtual one.) Held by:
//! `java-tests/contexts`, `java-tests/files`; `collect/src/record/tests/contexts.rs`, `carried.rs` and
//! `traces.rs` beside it.

pub mod carried;
pub mod natives;
pub mod published;
#[cfg(test)]
mod tests;

use once_cell::sync::Lazy;
use parking_lot::Mutex;
use vouch_collect::contexts::Contexts;
use vouch_signal::thread_context::ThreadContext;

static CONTEXTS: Lazy<Contexts> = Lazy::new(Contexts::default);
static CELLS: Cells = Cells::new();

/// Returns the contexts of the process.
pub fn contexts() -> &'static Contexts {
    &CONTEXTS
}

/// Returns the cells of the process.
pub fn cells() -> &'static Cells {
    &CELLS
}

/// A thread's present context and trace. The cell is alone in its cache line, because each change
/// of context writes to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Cell(ThreadContext);

impl Cell {
    pub fn purpose(&self) -> &ThreadContext {
        &self.0
    }
}

/// The cells that no thread uses. A cell is never freed, because a handler may read it at any time.
#[derive(Debug)]
pub struct Cells(Mutex<Vec<&'static Cell>>);

impl Cells {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns a cell without a context, for one thread.
    pub fn cell(&self) -> &'static Cell {
        let free = self.0.lock().pop();
        let cell = free.unwrap_or_else(|| Box::leak(Box::default()));
        cell.0.clear();
        cell
    }

    /// Takes back the cell of a thread that runs no Java code any more.
    pub fn give_back(&self, cell: &'static Cell) {
        self.0.lock().push(cell);
    }
}
