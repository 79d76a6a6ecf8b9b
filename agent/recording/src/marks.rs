//! Marks: what happened beside the samples, at a time or from a time to a time.
//!
//! Each kind says once what its figures are, so that a reader who has never heard of it can show them.

use vouch_sample::VALUES;

use crate::ids::{Id, MarkKindId, StringId};
use crate::strings::StringTable;

/// How a figure is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Nanoseconds,
}

/// One figure of a kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// Its name for machines: one word.
    pub key: &'static str,
    pub label: &'static str,
    pub unit: Unit,
}

/// A kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkKind {
    /// Its name for machines: one word, as no other kind has it.
    pub key: &'static str,
    pub label: &'static str,
    /// What it tells, in a sentence.
    pub description: &'static str,
    /// What its values are, in their order.
    pub figures: &'static [Figure],
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub kind: MarkKindId,
    pub began_ns: u64,
    /// The same, if it took no time.
    pub ended_ns: u64,
    /// As many as the kind has figures count.
    pub values: [u64; VALUES],
}

/// A kind, as the table keeps it.
#[derive(Debug, Clone, Copy)]
pub struct MarkKindRow {
    pub kind: MarkKind,
    /// Its label.
    pub name: StringId,
}

/// All kinds.
#[derive(Debug, Default)]
pub struct MarkKinds(Vec<MarkKindRow>);

impl MarkKinds {
    pub(crate) fn add(&mut self, strings: &mut StringTable, kind: MarkKind) -> MarkKindId {
        let known = self.0.iter().position(|known| known.kind.key == kind.key);
        MarkKindId::from_row(known.unwrap_or_else(|| {
            self.0.push(MarkKindRow { kind, name: strings.intern(kind.label) });
            self.0.len() - 1
        }))
    }

    pub fn rows(&self) -> &[MarkKindRow] {
        &self.0
    }

    pub fn get(&self, id: MarkKindId) -> &MarkKindRow {
        &self.0[id.row()]
    }
}
