//! The table of stacks: a tree in which a row is a frame and the row of its caller.
//!
//! A parent must always stand before its children. The ids see to it: a stack can only be asked for with a
//! parent that exists.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::ids::{FrameId, Id, StackId};
use crate::intern::Interner;
use crate::json::Column;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StackRow {
    pub(crate) parent: Option<StackId>,
    pub(crate) frame: FrameId,
}

#[derive(Debug, Default)]
pub(crate) struct StackTable(Interner<StackRow, StackId>);

impl StackTable {
    pub(crate) fn intern(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        debug_assert!(parent.is_none_or(|parent| parent.row() < self.0.rows().len()));
        self.0.intern(StackRow { parent, frame })
    }

    pub(crate) fn rows(&self) -> &[StackRow] {
        self.0.rows()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Serialize for StackTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.rows();
        let offset = |(row, stack): (usize, &StackRow)| stack.parent.map_or(0, |parent| row - parent.row());
        let mut table = serializer.serialize_struct("stackTable", 3)?;
        table.serialize_field("length", &rows.len())?;
        table.serialize_field("frame", &Column(|| rows.iter().map(|stack| stack.frame)))?;
        table.serialize_field("prefixOffset", &Column(|| rows.iter().enumerate().map(offset)))?;
        table.end()
    }
}
