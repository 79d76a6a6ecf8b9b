//! What the program says of whose work its threads do: the contexts that it has named, and the cell
//! in which each thread says which is its own, and its trace.
//!
//! They last as long as the process, since the program keeps their numbers; so there is a limit to
//! them. A number never comes to mean another context. A thread's cell is written by its own Java
//! code and read by its own signal handler, so neither waits.
//!
//! # Invariants
//!
//! **Invariant 21.** No sample is under a context, or in a trace, that its thread was not in. If
//! that is unknown, the sample is under the context around it, or under none. (A `close` for which
//! the stack has no room leaves a thread in its context. A trace that a tracer publishes is what
//! the tracer says of the running thread, also while that thread carries a virtual one.) Held by:
//! `java-tests/contexts`, `java-tests/files`; `record/tests/contexts.rs`, `carried.rs` and
//! `traces.rs` beside it.

pub mod carried;
pub mod natives;
pub mod published;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use once_cell::sync::Lazy;
use parking_lot::Mutex;
use vouch_signal::thread_context::ThreadContext;

/// So many contexts, each within whatever it is nested in, are told apart.
const MOST: usize = 1 << 16;
/// They are nested so deep: who looks at a sample's looks at all around it.
const DEEPEST: u8 = 64;
/// So many classes of them.
const MOST_KINDS: usize = 1 << 10;

static CONTEXTS: Lazy<Contexts> = Lazy::new(Contexts::default);

/// Those of the process.
pub fn contexts() -> &'static Contexts {
    &CONTEXTS
}

/// Where a thread says for whom it works. It is alone in its cache line: it is written at each
/// change of that.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Cell(ThreadContext);

impl Cell {
    pub fn purpose(&self) -> &ThreadContext {
        &self.0
    }
}

/// A class of contexts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The class.
    pub class: String,
    pub label: String,
    /// Of each field, its name and what it is called.
    pub fields: Vec<(String, String)>,
}

/// One context, within another one or none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Context {
    /// The number of the one that it is nested in; 0: none.
    pub outer: u32,
    /// The number of its kind, from 1.
    pub kind: u32,
    /// As many as the kind has fields.
    pub values: Vec<String>,
}

/// Why a context gets no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There are too many: no other will get one.
    Full,
    /// It is nested too deep, or within or of a kind what there is not.
    ThisOne,
}

/// All contexts.
#[derive(Debug, Default)]
pub struct Contexts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    kinds: Vec<Arc<Kind>>,
    known: Vec<Arc<Context>>,
    /// How deep each is nested.
    depths: Vec<u8>,
    numbers: HashMap<Arc<Context>, u32>,
    /// How often one was left out for want of room.
    lost: u64,
    /// Cells that nobody has. No cell is ever given back to the allocator: a handler may look at it
    /// at any time.
    free: Vec<&'static Cell>,
}

/// The number that names a place of a list, and the other way: 0 names none.
fn number_of(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(0)
}

fn at<T>(list: &[T], number: u32) -> Option<&T> {
    list.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

impl Contexts {
    /// The number of a kind; 0 if there are too many.
    pub fn kind(&self, kind: Kind) -> u32 {
        let mut inner = self.0.lock();
        let known = inner.kinds.iter().position(|known| **known == kind);
        let place = known.unwrap_or(inner.kinds.len());
        if place >= MOST_KINDS {
            return 0;
        }
        if known.is_none() {
            inner.kinds.push(Arc::new(kind));
        }
        number_of(place)
    }

    /// The number of a context; or why it has none.
    pub fn number(&self, context: Context) -> Result<u32, Refusal> {
        let mut inner = self.0.lock();
        if let Some(number) = inner.numbers.get(&context) {
            return Ok(*number);
        }
        let fields = at(&inner.kinds, context.kind).map(|kind| kind.fields.len());
        if fields != Some(context.values.len()) {
            return Err(Refusal::ThisOne);
        }
        let depth = if context.outer == 0 { Some(&0) } else { at(&inner.depths, context.outer) };
        let Some(depth) = depth.map(|outer| outer + 1).filter(|depth| *depth <= DEEPEST) else {
            return Err(Refusal::ThisOne);
        };
        if inner.known.len() >= MOST {
            return Err(Refusal::Full);
        }
        let number = number_of(inner.known.len());
        let context = Arc::new(context);
        inner.known.push(Arc::clone(&context));
        inner.depths.push(depth);
        inner.numbers.insert(context, number);
        Ok(number)
    }

    /// What a number stands for; `None` if for nothing.
    pub fn get(&self, number: u32) -> Option<(Arc<Context>, Arc<Kind>)> {
        let inner = self.0.lock();
        let context = at(&inner.known, number)?;
        Some((Arc::clone(context), Arc::clone(at(&inner.kinds, context.kind)?)))
    }

    /// True if a context lies somewhere inside of another one.
    pub fn is_inside(&self, context: u32, other: u32) -> bool {
        let inner = self.0.lock();
        let outer = |number: &u32| at(&inner.known, *number).map(|context| context.outer);
        std::iter::successors(outer(&context), outer).any(|around| around == other && around != 0)
    }

    /// One was left out.
    pub fn lose(&self) {
        self.0.lock().lost += 1;
    }

    /// How many were left out.
    pub fn lost(&self) -> u64 {
        self.0.lock().lost
    }

    /// A cell without a context, for one thread.
    pub fn cell(&self) -> &'static Cell {
        let free = self.0.lock().free.pop();
        let cell = free.unwrap_or_else(|| Box::leak(Box::default()));
        cell.0.clear();
        cell
    }

    /// Takes the cell of a thread back that runs no Java any more.
    pub fn give_back(&self, cell: &'static Cell) {
        self.0.lock().free.push(cell);
    }
}
