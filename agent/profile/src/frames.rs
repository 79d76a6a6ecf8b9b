//! The table of frames: a function at the line that it was executing, one row for each such line.
//!
//! A frame must never carry an address: the front-end would look for the code of a native library there.

use std::num::NonZeroU32;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::category::Category;
use crate::fate::Fate;
use crate::funcs::FuncTable;
use crate::ids::{FrameId, FuncId};
use crate::intern::Interner;
use crate::json::{Column, Repeat};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FrameRow {
    pub(crate) func: FuncId,
    pub(crate) line: Option<NonZeroU32>,
    /// Of a leaf: the fate of its samples.
    pub(crate) fate: Option<Fate>,
}

#[derive(Debug, Default)]
pub(crate) struct FrameTable(Interner<FrameRow, FrameId>);

impl FrameTable {
    pub(crate) fn intern(&mut self, func: FuncId, line: Option<u32>, fate: Option<Fate>) -> FrameId {
        self.0.intern(FrameRow { func, line: line.and_then(NonZeroU32::new), fate })
    }

    pub(crate) fn get(&self, id: FrameId) -> FrameRow {
        self.0.get(id)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// The table as it is written: a frame's category is that of its function.
    pub(crate) fn with<'a>(&'a self, funcs: &'a FuncTable) -> impl Serialize + use<'a> {
        FrameColumns { frames: self.0.rows(), funcs }
    }
}

struct FrameColumns<'a> {
    frames: &'a [FrameRow],
    funcs: &'a FuncTable,
}

impl FrameColumns<'_> {
    fn categories(&self) -> impl Iterator<Item = (Category, Option<Fate>)> {
        self.frames.iter().map(|frame| (self.funcs.get(frame.func).category, frame.fate))
    }
}

impl Serialize for FrameColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = self.frames.len();
        let mut table = serializer.serialize_struct("frameTable", 11)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("address", &Repeat(-1, length))?;
        table.serialize_field("inlineDepth", &Repeat(0, length))?;
        table.serialize_field(
            "category",
            &Column(|| self.categories().map(|(category, _)| category.index())),
        )?;
        let parts = || self.categories().map(|(category, fate)| category.subcategory(fate));
        table.serialize_field("subcategory", &Column(parts))?;
        table.serialize_field("func", &Column(|| self.frames.iter().map(|frame| frame.func)))?;
        table.serialize_field("nativeSymbol", &Repeat((), length))?;
        table.serialize_field("innerWindowID", &Repeat((), length))?;
        table.serialize_field("line", &Column(|| self.frames.iter().map(|frame| frame.line)))?;
        table.serialize_field("column", &Repeat((), length))?;
        table.serialize_field("originalLocation", &Repeat((), length))?;
        table.end()
    }
}
