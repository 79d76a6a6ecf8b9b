//! The table of the program's contexts, by the numbers that samples have. A context says what a
//! thread works for.
//!
//! Contexts last as long as the process, because the program keeps their numbers. So their number
//! is limited. A number is never reused for another context.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The maximum number of contexts. The same context within two others counts twice.
const MAX_CONTEXTS: usize = 1 << 16;
/// The maximum depth of nested contexts. A lookup of a sample's context visits all contexts around
/// it.
const MAX_NESTING_DEPTH: u8 = 64;
/// The maximum number of classes of the program that are declared as contexts.
const MAX_KINDS: usize = 1 << 10;

/// A kind of contexts: a class of the program, and its fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgramContextKind {
    /// The name of the program's class.
    pub class: String,
    pub label: String,
    /// The name and the label of each field of the class.
    pub fields: Vec<(String, String)>,
}

/// A context, which may be nested in another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Context {
    /// The number of the context around this one, or 0 for an outermost context.
    pub outer: u32,
    /// The number of the context's kind, from 1.
    pub kind: u32,
    /// The values of the context, one for each field of its kind.
    pub values: Vec<String>,
}

/// The reason why a context gets no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The table is full, so no other context will get a number either.
    Full,
    /// This context is nested too deep, or its outer context or its kind does not exist.
    Invalid,
}

/// The table of all contexts of the process.
#[derive(Debug, Default)]
pub struct Contexts(Mutex<ContextTables>);

#[derive(Debug, Default)]
struct ContextTables {
    kinds: Vec<Arc<ProgramContextKind>>,
    known: Vec<Arc<Context>>,
    /// The nesting depth of each context in the table.
    depths: Vec<u8>,
    numbers: HashMap<Arc<Context>, u32>,
    /// The number of contexts that were dropped because of a limit.
    lost: u64,
}

/// Converts an index of a list to a number that begins at 1. [`get_numbered`] converts it
/// back. The number 0 has no index.
fn index_to_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(0)
}

fn get_numbered<T>(list: &[T], number: u32) -> Option<&T> {
    list.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

impl Contexts {
    /// Returns the number of a kind of contexts, or 0 if there are too many kinds.
    pub fn kind(&self, kind: ProgramContextKind) -> u32 {
        let mut inner = self.0.lock();
        let known = inner.kinds.iter().position(|known| **known == kind);
        let index = known.unwrap_or(inner.kinds.len());
        if index >= MAX_KINDS {
            return 0;
        }
        if known.is_none() {
            inner.kinds.push(Arc::new(kind));
        }
        index_to_number(index)
    }

    /// Returns the number of a context in the table, or the reason why it has none.
    pub fn number(&self, context: Context) -> Result<u32, Refusal> {
        let mut inner = self.0.lock();
        if let Some(number) = inner.numbers.get(&context) {
            return Ok(*number);
        }
        let fields = get_numbered(&inner.kinds, context.kind).map(|kind| kind.fields.len());
        if fields != Some(context.values.len()) {
            return Err(Refusal::Invalid);
        }
        let depth = if context.outer == 0 { Some(&0) } else { get_numbered(&inner.depths, context.outer) };
        let Some(depth) = depth.map(|outer| outer + 1).filter(|depth| *depth <= MAX_NESTING_DEPTH) else {
            return Err(Refusal::Invalid);
        };
        if inner.known.len() >= MAX_CONTEXTS {
            return Err(Refusal::Full);
        }
        let number = index_to_number(inner.known.len());
        let context = Arc::new(context);
        inner.known.push(Arc::clone(&context));
        inner.depths.push(depth);
        inner.numbers.insert(context, number);
        Ok(number)
    }

    /// Returns the context with this number and its kind, or `None` if there is no such context.
    pub fn get(&self, number: u32) -> Option<(Arc<Context>, Arc<ProgramContextKind>)> {
        let inner = self.0.lock();
        let context = get_numbered(&inner.known, number)?;
        Some((Arc::clone(context), Arc::clone(get_numbered(&inner.kinds, context.kind)?)))
    }

    /// Returns true if a context is nested in another one, at any depth.
    pub fn is_inside(&self, context: u32, other: u32) -> bool {
        let inner = self.0.lock();
        let outer = |number: &u32| get_numbered(&inner.known, *number).map(|context| context.outer);
        std::iter::successors(outer(&context), outer).any(|around| around == other && around != 0)
    }

    /// Counts a context that was dropped because of a limit.
    pub fn count_lost(&self) {
        self.0.lock().lost += 1;
    }

    /// Returns the number of contexts that were dropped because of a limit.
    pub fn lost(&self) -> u64 {
        self.0.lock().lost
    }
}
