//! The table of refutations. A refutation is one contradiction that proof or a witness found in
//! stacks. All samples with the same contradiction share one row.
//!
//! A refutation gets its number when it is found for the first time. The number is the same in the
//! timeline, in the report and in `vouch explain`.

use crate::ids::{Id, RefutationId, StringId};
use crate::strings::StringTable;

/// A refutation with the texts that describe it.
#[derive(Debug, Clone, Copy)]
pub struct Refutation<'a> {
    /// The name of the refutation's kind in the report.
    pub kind: &'a str,
    /// The description of the refutation's kind for users.
    pub words: &'a str,
    /// The method with the bytecode that contradicts the stack. It is empty for a wrong root.
    pub caller: &'a str,
    pub bci: i32,
    /// The text of what the caller's bytecode calls at `bci`.
    pub expected: &'a str,
    /// The method that the caller would have called, by the walk. It is empty if only the caller's
    /// bci is wrong.
    pub found: &'a str,
}

/// A row of the table of refutations.
#[derive(Debug, Clone, Copy)]
pub struct RefutationRow {
    /// The name that markers of this refutation have in the timeline.
    pub name: StringId,
    pub kind: StringId,
    pub caller: StringId,
    pub bci: i32,
    pub expected: StringId,
    pub found: StringId,
}

/// The table of refutations, in the order in which they were found.
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

    /// Returns the refutations, in the order of their numbers.
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
    /// Returns the number of the refutation that users see. Numbers begin at 1.
    pub fn number(self) -> usize {
        self.row() + 1
    }
}
