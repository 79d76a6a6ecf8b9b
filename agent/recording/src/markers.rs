//! Marks: what happened beside the samples, at a time or from a time to a time.
//!
//! Each kind says once what its figures are, so that a reader who has never heard of it can show
//! them.

use vouch_sample::MAX_VALUES;

use crate::category::Category;
use crate::ids::{Id, MarkKindId, StackId, StringId};
use crate::strings::StringTable;

/// How a figure is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Nanoseconds,
    Bytes,
    /// The bits of an `f64`.
    Decimal,
    /// The same, where 1 is the whole.
    Percentage,
    /// What [`Mark::of_text`] has made of it.
    Text,
}

/// One figure of a kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure<'a> {
    /// Its name for machines: one word.
    pub key: &'a str,
    pub label: &'a str,
    pub unit: Unit,
}

impl<'a> Figure<'a> {
    /// One that is a text.
    pub const fn text(key: &'a str, label: &'a str) -> Self {
        Self { key, label, unit: Unit::Text }
    }
}

/// A kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkKind<'a> {
    /// Its name for machines: one word, as no other kind has it.
    pub key: &'a str,
    pub label: &'a str,
    /// What it tells, in a sentence.
    pub description: &'a str,
    pub category: Category,
    /// What its values are, in their order.
    pub figures: &'a [Figure<'a>],
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub kind: MarkKindId,
    pub began_ns: u64,
    /// The same, if it took no time.
    pub ended_ns: u64,
    /// As many as the kind has figures count.
    pub values: [u64; MAX_VALUES],
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
#[derive(Debug, Clone)]
pub struct MarkKindRow {
    pub key: String,
    pub label: StringId,
    pub description: String,
    pub category: Category,
    pub figures: Vec<FigureRow>,
}

/// A figure, as the table keeps it.
#[derive(Debug, Clone)]
pub struct FigureRow {
    pub key: String,
    pub label: String,
    pub unit: Unit,
}

/// All kinds.
#[derive(Debug, Default)]
pub struct MarkKinds(Vec<MarkKindRow>);

impl MarkKinds {
    pub(crate) fn add(&mut self, strings: &mut StringTable, kind: MarkKind<'_>) -> MarkKindId {
        let known = self.0.iter().position(|known| known.key == kind.key);
        MarkKindId::from_row(known.unwrap_or_else(|| {
            let MarkKind { key, label, description, category, figures } = kind;
            let figure = |figure: &Figure<'_>| FigureRow {
                key: figure.key.to_owned(),
                label: figure.label.to_owned(),
                unit: figure.unit,
            };
            self.0.push(MarkKindRow {
                key: key.to_owned(),
                label: strings.intern(label),
                description: description.to_owned(),
                category,
                figures: figures.iter().map(figure).collect(),
            });
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
