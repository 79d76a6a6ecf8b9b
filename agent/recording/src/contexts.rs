//! Contexts: whose work the threads did, as the program itself has told, and what each stands for.
//!
//! A context may be nested in another one, which has an earlier row. It must never be said of a
//! sample that the program did not take in it: what carries none is counted apart.

use std::collections::HashMap;

use crate::ids::{ContextId, ContextKindId, Id, StringId};

/// A class of contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextKind {
    /// The class.
    pub class: StringId,
    pub label: StringId,
    pub fields: Vec<ContextField>,
}

/// What a context says in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextField {
    /// Its name in the program.
    pub key: StringId,
    pub label: StringId,
}

/// A context, as the table keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRow {
    /// What it is nested in.
    pub outer: Option<ContextId>,
    pub kind: ContextKindId,
    /// As many as its kind has fields.
    pub values: Vec<StringId>,
}

/// In the place of the name of a virtual thread that has none.
pub const UNNAMED: &str = "[unnamed]";
/// The same of one of which that is not known.
pub const UNKNOWN: &str = "[unknown]";
/// And of those that are too many to be told apart.
pub const OTHERS: &str = "[others]";

/// Samples, what they weigh together, and the sum of the squares of that: from the two comes how
/// sure a share can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weighed {
    pub samples: u64,
    pub weight: u64,
    pub squares: u64,
}

impl Weighed {
    /// One sample more.
    pub fn add(&mut self, weight: u64) {
        self.samples += 1;
        self.weight += weight;
        self.squares = self.squares.saturating_add(weight.saturating_mul(weight));
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            weight: self.weight + other.weight,
            squares: self.squares.saturating_add(other.squares),
        }
    }
}

/// The class of the kind of contexts that a virtual thread is to all that is done on it: the
/// outermost, and named by nobody.
pub const VIRTUAL_THREAD: &str = "java.lang.VirtualThread";
/// The class of those that are traces.
pub const TRACE: &str = "dev.vouch.Trace";

/// All contexts, in the order in which samples met them.
#[derive(Debug, Default)]
pub struct Contexts {
    kinds: Vec<ContextKind>,
    /// That of virtual threads.
    carried: Option<ContextKindId>,
    /// Virtual threads without a name so far, by their ids.
    unnamed: HashMap<StringId, ContextId>,
    rows: Vec<ContextRow>,
    weighed: Vec<Weighed>,
    /// Samples of threads that ran Java and had no context.
    without: Weighed,
}

impl Contexts {
    pub(crate) fn add_kind(&mut self, kind: ContextKind, is_carried: bool) -> ContextKindId {
        self.kinds.push(kind);
        let id = ContextKindId::from_row(self.kinds.len() - 1);
        self.carried = self.carried.or(is_carried.then_some(id));
        id
    }

    pub(crate) fn add(&mut self, row: ContextRow) -> ContextId {
        debug_assert!(row.values.len() == self.kind(row.kind).fields.len());
        self.rows.push(row);
        self.weighed.push(Weighed::default());
        ContextId::from_row(self.rows.len() - 1)
    }

    /// Adds a virtual thread, which may not have a name yet. A row of the same id that has none
    /// gets the name of this one: it holds for earlier samples, too.
    pub(crate) fn add_carried(&mut self, row: ContextRow, unknown: StringId) -> ContextId {
        let (name, id) = (row.values[0], row.values[1]);
        let added = self.add(row);
        if id == unknown {
            return added;
        }
        if name == unknown {
            self.unnamed.entry(id).or_insert(added);
        } else if let Some(unnamed) = self.unnamed.remove(&id) {
            self.rows[unnamed.row()].values[0] = name;
        }
        added
    }

    pub(crate) fn weigh(&mut self, context: Option<ContextId>, java: bool, weight: u32) {
        match context {
            Some(context) => self.weighed[context.row()].add(weight.into()),
            None if java => self.without.add(weight.into()),
            None => {}
        }
    }

    pub fn kinds(&self) -> &[ContextKind] {
        &self.kinds
    }

    pub fn kind(&self, id: ContextKindId) -> &ContextKind {
        &self.kinds[id.row()]
    }

    pub fn rows(&self) -> &[ContextRow] {
        &self.rows
    }

    pub fn get(&self, id: ContextId) -> &ContextRow {
        &self.rows[id.row()]
    }

    /// What the samples weigh that were taken in this context, and in none within it.
    pub fn weighed(&self, id: ContextId) -> Weighed {
        self.weighed[id.row()]
    }

    /// The same of threads that ran Java and had none.
    pub fn without(&self) -> Weighed {
        self.without
    }

    /// All of them.
    pub fn ids(&self) -> impl Iterator<Item = ContextId> + use<> {
        (0..self.rows.len()).map(ContextId::from_row)
    }

    /// True if contexts of this kind are virtual threads.
    pub(crate) fn is_of_virtual_threads(&self, kind: ContextKindId) -> bool {
        self.carried == Some(kind)
    }

    /// True for a virtual thread, in which the program has named nothing.
    pub fn is_carried(&self, id: ContextId) -> bool {
        self.is_of_virtual_threads(self.get(id).kind)
    }

    /// The virtual thread that this is the work of.
    pub fn carried(&self, id: Option<ContextId>) -> Option<ContextId> {
        self.carried?;
        self.outwards(id).last().filter(|id| self.is_carried(*id))
    }

    /// A context and what it is nested in, from the inside.
    pub fn outwards(&self, id: Option<ContextId>) -> impl Iterator<Item = ContextId> {
        std::iter::successors(id, |id| self.get(*id).outer)
    }

    pub(crate) fn bytes(&self) -> u64 {
        let values: usize = self.rows.iter().map(|row| row.values.capacity()).sum();
        let rows = self.rows.capacity() * (size_of::<ContextRow>() + size_of::<Weighed>());
        (rows + values * size_of::<StringId>()) as u64
    }
}
