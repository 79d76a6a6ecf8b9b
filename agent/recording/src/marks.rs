//! Marks: what happened beside the samples, at a time or from a time to a time.
//!
//! Each kind says once what its figures are, so that a reader who has never heard of it can show them.

use vouch_sample::VALUES;

use crate::category::Category;
use crate::ids::{Id, MarkKindId, StackId, StringId};
use crate::strings::StringTable;

/// How a figure is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Nanoseconds,
    Bytes,
    /// What [`Mark::of_text`] has made of it.
    Text,
}

/// One figure of a kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// Its name for machines: one word.
    pub key: &'static str,
    pub label: &'static str,
    pub unit: Unit,
}

impl Figure {
    /// One that is a text.
    pub const fn text(key: &'static str, label: &'static str) -> Self {
        Self { key, label, unit: Unit::Text }
    }
}

/// A kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkKind {
    /// Its name for machines: one word, as no other kind has it.
    pub key: &'static str,
    pub label: &'static str,
    /// What it tells, in a sentence.
    pub description: &'static str,
    pub category: Category,
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
    /// Where its thread stood.
    pub stack: Option<StackId>,
}

impl Mark {
    /// The value of a text.
    pub fn of_text(text: Option<StringId>) -> u64 {
        text.map_or(u64::MAX, |text| text.row() as u64)
    }

    /// The text that a value means.
    pub fn text_of(value: u64) -> Option<StringId> {
        usize::try_from(value).ok().filter(|_| value != u64::MAX).map(StringId::from_row)
    }
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
