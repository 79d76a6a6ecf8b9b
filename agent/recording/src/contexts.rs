//! Contexts: what the program says about the task that a thread works for. The table also has the
//! weight of each context's samples.
//!
//! A context may be nested in another one, which has an earlier row. A sample must never have a
//! context that the program had not set. Samples without a context are counted separately.

use std::collections::HashMap;

use crate::ids::{ContextId, ContextKindId, Id, StringId};

/// A kind of contexts: a class of the program, with the fields that its contexts have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextKind {
    /// The name of the program's class for contexts of this kind.
    pub class: StringId,
    pub label: StringId,
    pub fields: Vec<ContextField>,
}

/// A field that all contexts of a kind have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextField {
    /// The name that the field has in the program.
    pub key: StringId,
    pub label: StringId,
}

/// A row of the table of contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRow {
    /// The context that this one is nested in, or `None` if it is outermost.
    pub outer: Option<ContextId>,
    pub kind: ContextKindId,
    /// The values of the context, in the order of the fields of its kind.
    pub values: Vec<StringId>,
}

/// The name that Vouch shows for a virtual thread without a name.
pub const UNNAMED: &str = "[unnamed]";
/// The name that Vouch shows for a virtual thread if its name could not be read.
pub const UNKNOWN: &str = "[unknown]";
/// The name that Vouch shows for all virtual threads beyond the limit for separate ones.
pub const OTHERS: &str = "[others]";

/// The number of samples, the sum of their weights, and the sum of the squares of their weights.
/// They give the confidence interval of a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WeightSum {
    pub samples: u64,
    pub weight: u64,
    pub squares: u64,
}

impl WeightSum {
    /// Adds a sample. A weight from a damaged file may be any number.
    pub fn add(&mut self, weight: u64) {
        self.samples += 1;
        self.weight = self.weight.saturating_add(weight);
        self.squares = self.squares.saturating_add(weight.saturating_mul(weight));
    }

    /// Adds samples that share a weight. Weights are whole numbers, so the first samples may have 1
    /// more than the last.
    pub fn add_samples(&mut self, samples: u64, weight: u64) {
        let Some(each) = weight.checked_div(samples) else { return };
        let heavier = weight % samples;
        let squares = |samples: u64, each: u64| samples.saturating_mul(each.saturating_mul(each));
        *self = self.plus(Self {
            samples,
            weight,
            squares: squares(heavier, each.saturating_add(1))
                .saturating_add(squares(samples - heavier, each)),
        });
    }

    /// Returns the sum of two such sums, as if all samples had been added to one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            weight: self.weight.saturating_add(other.weight),
            squares: self.squares.saturating_add(other.squares),
        }
    }
}

/// The name of the class of contexts that are virtual threads. The agent itself adds such contexts,
/// around all others.
pub const VIRTUAL_THREAD: &str = "java.lang.VirtualThread";
/// The name of the class of contexts that are traces.
pub const TRACE: &str = "dev.vouch.Trace";

/// The table of contexts, in the order in which samples had them first.
#[derive(Debug, Default)]
pub struct Contexts {
    kinds: Vec<ContextKind>,
    /// The kind of contexts that are virtual threads, if there is one.
    virtual_thread_kind: Option<ContextKindId>,
    /// The virtual threads with unknown names, by their ids.
    unnamed: HashMap<StringId, ContextId>,
    rows: Vec<ContextRow>,
    weights: Vec<WeightSum>,
    /// The number and the weight of samples of threads that ran Java and had no context.
    without: WeightSum,
}

impl Contexts {
    pub(crate) fn add_kind(&mut self, kind: ContextKind, is_virtual_thread: bool) -> ContextKindId {
        self.kinds.push(kind);
        let id = ContextKindId::from_row(self.kinds.len() - 1);
        self.virtual_thread_kind = self.virtual_thread_kind.or(is_virtual_thread.then_some(id));
        id
    }

    pub(crate) fn add(&mut self, row: ContextRow) -> ContextId {
        debug_assert!(row.values.len() == self.kind(row.kind).fields.len());
        self.rows.push(row);
        self.weights.push(WeightSum::default());
        ContextId::from_row(self.rows.len() - 1)
    }

    /// Adds a virtual thread. Its name may be unknown. An earlier row of the same id with an
    /// unknown name gets the name of this one, so earlier samples have it, too.
    pub(crate) fn add_virtual_thread(&mut self, row: ContextRow, unknown: StringId) -> ContextId {
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
            Some(context) => self.weights[context.row()].add(weight.into()),
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

    /// Returns the weight of the samples in this context, without those in contexts nested in it.
    pub fn weight_of(&self, id: ContextId) -> WeightSum {
        self.weights[id.row()]
    }

    /// Returns the weight of the samples of threads that ran Java and had no context.
    pub fn without(&self) -> WeightSum {
        self.without
    }

    /// Returns the ids of all contexts.
    pub fn ids(&self) -> impl Iterator<Item = ContextId> + use<> {
        (0..self.rows.len()).map(ContextId::from_row)
    }

    /// True if contexts of this kind are virtual threads.
    pub(crate) fn is_virtual_thread_kind(&self, kind: ContextKindId) -> bool {
        self.virtual_thread_kind == Some(kind)
    }

    /// True if this context is a virtual thread.
    pub fn is_virtual_thread(&self, id: ContextId) -> bool {
        self.is_virtual_thread_kind(self.get(id).kind)
    }

    /// Returns the virtual thread that a context is nested in, or that it is.
    pub fn virtual_thread_of(&self, id: Option<ContextId>) -> Option<ContextId> {
        self.virtual_thread_kind?;
        self.outwards(id).last().filter(|id| self.is_virtual_thread(*id))
    }

    /// Yields a context and the contexts that it is nested in, the innermost first.
    pub fn outwards(&self, id: Option<ContextId>) -> impl Iterator<Item = ContextId> {
        std::iter::successors(id, |id| self.get(*id).outer)
    }

    pub(crate) fn bytes(&self) -> u64 {
        let values: usize = self.rows.iter().map(|row| row.values.capacity()).sum();
        let rows = self.rows.capacity() * (size_of::<ContextRow>() + size_of::<WeightSum>());
        (rows + values * size_of::<StringId>()) as u64
    }
}
