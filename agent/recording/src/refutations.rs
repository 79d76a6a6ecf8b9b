//! The table of refutations: what was found out against a stack, once for all the samples that
//! share it.
//!
//! Its text is made when a refutation is first met, so its number is one to be cited: the same in
//! the timeline, in the report, and at `vouch explain`.

use crate::ids::{Id, RefutationId, StringId};
use crate::strings::StringTable;

/// What contradicts a stack, in words.
#[derive(Debug, Clone, Copy)]
pub struct Refutation<'a> {
    pub kind: &'a str,
    /// The kind, in words.
    pub words: &'a str,
    /// The method whose bytecode says otherwise; empty where a stack's end is meant.
    pub caller: &'a str,
    pub bci: i32,
    /// What its bytecode calls.
    pub expected: &'a str,
    /// The method that the walk claimed was called; empty where it claimed no more than the place.
    pub found: &'a str,
}

/// A refutation, as the table keeps it.
#[derive(Debug, Clone, Copy)]
pub struct RefutationRow {
    /// What its markers are called.
    pub name: StringId,
    pub kind: StringId,
    pub caller: StringId,
    pub bci: i32,
    pub expected: StringId,
    pub found: StringId,
}

/// All refutations, in the order in which they were met.
#[derive(Debug, Default)]
pub struct RefutationTable {
    rows: Vec<RefutationRow>,
}

impl RefutationTable {
    pub(crate) fn add(&mut self, strings: &mut StringTable, refutation: Refutation<'_>) -> RefutationId {
        let Refutation { kind, words, caller, bci, expected, found } = refutation;
        self.push(RefutationRow {
            name: strings.intern(&format!("Refuted: {words}")),
            kind: strings.intern(kind),
            caller: strings.intern(caller),
            bci,
            expected: strings.intern(expected),
            found: strings.intern(found),
        })
    }

    pub(crate) fn push(&mut self, row: RefutationRow) -> RefutationId {
        self.rows.push(row);
        RefutationId::from_row(self.rows.len() - 1)
    }

    /// By number, from the first on.
    pub fn rows(&self) -> &[RefutationRow] {
        &self.rows
    }

    pub fn get(&self, id: RefutationId) -> RefutationRow {
        self.rows[id.row()]
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.rows.capacity() * size_of::<RefutationRow>()) as u64
    }
}

impl RefutationId {
    /// The number by which a person cites it; they count from 1.
    pub fn number(self) -> usize {
        self.row() + 1
    }
}
