//! The table of the program's contexts, by the numbers that samples have.
//!
//! Contexts last as long as the process, because the program keeps their numbers. So their number
//! is limited. A number is never reused for another context.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The maximum number of contexts. The same context within another one counts separately.
const MAX_CONTEXTS: usize = 1 << 16;
/// The maximum depth of nested contexts. A lookup of a sample's context visits all contexts around
/// it.
const MAX_DEPTH: u8 = 64;
/// The maximum number of classes of contexts.
const MAX_KINDS: usize = 1 << 10;

/// A class of contexts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The name of the class.
    pub class: String,
    pub label: String,
    /// The name and the label of each field.
    pub fields: Vec<(String, String)>,
}

/// A context, which may be nested in another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Context {
    /// The number of the context around this one, or 0 for an outermost context.
    pub outer: u32,
    /// The number of the context's kind, from 1.
    pub kind: u32,
    /// The value of each field of the kind.
    pub values: Vec<String>,
}

/// The reason why a context gets no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There are too many contexts, so no other context will get a number.
    Full,
    /// The context is nested too deep, or its outer context or its kind does not exist.
    ThisOne,
}

/// All contexts of the process.
#[derive(Debug, Default)]
pub struct Contexts(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    kinds: Vec<Arc<Kind>>,
    known: Vec<Arc<Context>>,
    /// The nesting depth of each context.
    depths: Vec<u8>,
    numbers: HashMap<Arc<Context>, u32>,
    /// The number of contexts that were dropped because of a limit.
    lost: u64,
}

/// Converts an index of a list to a number from 1. [`at`] converts it back. The number 0 has no
/// index.
fn number_of(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(0)
}

fn at<T>(list: &[T], number: u32) -> Option<&T> {
    list.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

impl Contexts {
    /// Returns the number of a kind, or 0 if there are too many.
    pub fn kind(&self, kind: Kind) -> u32 {
        let mut inner = self.0.lock();
        let known = inner.kinds.iter().position(|known| **known == kind);
        let place = known.unwrap_or(inner.kinds.len());
        if place >= MAX_KINDS {
            return 0;
        }
        if known.is_none() {
            inner.kinds.push(Arc::new(kind));
        }
        number_of(place)
    }

    /// Returns the number of a context, or the reason why it has none.
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
        let Some(depth) = depth.map(|outer| outer + 1).filter(|depth| *depth <= MAX_DEPTH) else {
            return Err(Refusal::ThisOne);
        };
        if inner.known.len() >= MAX_CONTEXTS {
            return Err(Refusal::Full);
        }
        let number = number_of(inner.known.len());
        let context = Arc::new(context);
        inner.known.push(Arc::clone(&context));
        inner.depths.push(depth);
        inner.numbers.insert(context, number);
        Ok(number)
    }

    /// Returns the context with this number and its kind, or `None` if there is no such context.
    pub fn get(&self, number: u32) -> Option<(Arc<Context>, Arc<Kind>)> {
        let inner = self.0.lock();
        let context = at(&inner.known, number)?;
        Some((Arc::clone(context), Arc::clone(at(&inner.kinds, context.kind)?)))
    }

    /// Returns true if a context is nested in another one, at any depth.
    pub fn is_inside(&self, context: u32, other: u32) -> bool {
        let inner = self.0.lock();
        let outer = |number: &u32| at(&inner.known, *number).map(|context| context.outer);
        std::iter::successors(outer(&context), outer).any(|around| around == other && around != 0)
    }

    /// Counts a dropped context.
    pub fn lose(&self) {
        self.0.lock().lost += 1;
    }

    /// Returns the number of dropped contexts.
    pub fn lost(&self) -> u64 {
        self.0.lock().lost
    }
}
