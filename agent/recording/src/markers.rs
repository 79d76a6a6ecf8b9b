//! Markers: events in the timeline other than samples, each at one time or over a period.
//!
//! Each kind of markers describes its fields once. So a reader can show kinds that it does not have
//! a case for.

use vouch_sample::MAX_VALUES;

use crate::category::Category;
use crate::ids::{Id, MarkerKindId, StackId, StringId};
use crate::strings::StringTable;

/// The unit of a field, and how its value is encoded in a `u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Nanoseconds,
    Bytes,
    /// The unit of a decimal number. A value is the bits of an `f64`.
    Decimal,
    /// The unit of a share. A value is the bits of an `f64`, where 1 is 100 %.
    Percentage,
    /// The unit of a text. A value is the result of [`Marker::text_to_value`].
    Text,
}

/// A field that the markers of a kind have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerField<'a> {
    /// The name of the field in files: one word.
    pub key: &'a str,
    /// The name of the field that users see.
    pub label: &'a str,
    pub unit: Unit,
}

impl<'a> MarkerField<'a> {
    /// Makes a field with texts as its values.
    pub const fn text(key: &'a str, label: &'a str) -> Self {
        Self { key, label, unit: Unit::Text }
    }
}

/// A kind of markers, such as garbage collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerKind<'a> {
    /// The name of this kind of markers in files: one word, which no other kind has.
    pub key: &'a str,
    /// The name of this kind of markers that users see.
    pub label: &'a str,
    /// A sentence for users that says what happened at a marker of this kind.
    pub description: &'a str,
    pub category: Category,
    /// The fields of each marker of this kind, in the order of its values.
    pub fields: &'a [MarkerField<'a>],
}

/// An event in the timeline of a thread, or of the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    pub kind: MarkerKindId,
    /// When the event began: CLOCK_MONOTONIC, in nanoseconds.
    pub began_ns: u64,
    /// When the event ended: CLOCK_MONOTONIC, in nanoseconds. It is `began_ns` for an instant
    /// event.
    pub ended_ns: u64,
    /// The values of the marker, in the order of its kind's fields, then zeros.
    pub values: [u64; MAX_VALUES],
    /// The stack that the thread had at the event, if it was taken.
    pub stack: Option<StackId>,
}

impl Marker {
    /// Encodes a text as the value of a marker's field.
    pub fn text_to_value(text: Option<StringId>) -> u64 {
        text.map_or(u64::MAX, |text| text.row() as u64)
    }

    /// Decodes a text from the value of a marker's field.
    pub fn text_from_value(value: u64) -> Option<StringId> {
        usize::try_from(value).ok().filter(|_| value != u64::MAX).map(StringId::from_row)
    }
}

/// A row of the table of marker kinds.
#[derive(Debug, Clone)]
pub struct MarkerKindRow {
    pub key: String,
    pub label: StringId,
    pub description: String,
    pub category: Category,
    pub fields: Vec<MarkerFieldRow>,
}

/// A field in a row of the table of marker kinds.
#[derive(Debug, Clone)]
pub struct MarkerFieldRow {
    pub key: String,
    pub label: String,
    pub unit: Unit,
}

/// The table of marker kinds.
#[derive(Debug, Default)]
pub struct MarkerKinds(Vec<MarkerKindRow>);

impl MarkerKinds {
    /// Adds a kind of markers, or finds the kind that has the same key.
    pub(crate) fn add(&mut self, strings: &mut StringTable, kind: MarkerKind<'_>) -> MarkerKindId {
        let known = self.0.iter().position(|known| known.key == kind.key);
        MarkerKindId::from_row(known.unwrap_or_else(|| {
            let MarkerKind { key, label, description, category, fields } = kind;
            let field = |field: &MarkerField<'_>| MarkerFieldRow {
                key: field.key.to_owned(),
                label: field.label.to_owned(),
                unit: field.unit,
            };
            self.0.push(MarkerKindRow {
                key: key.to_owned(),
                label: strings.intern(label),
                description: description.to_owned(),
                category,
                fields: fields.iter().map(field).collect(),
            });
            self.0.len() - 1
        }))
    }

    pub fn rows(&self) -> &[MarkerKindRow] {
        &self.0
    }

    pub fn get(&self, id: MarkerKindId) -> &MarkerKindRow {
        &self.0[id.row()]
    }
}
