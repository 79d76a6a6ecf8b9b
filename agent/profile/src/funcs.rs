//! The table of functions: Java methods, native functions, and the names given to what has no function.
//!
//! Two functions are one if all of their fields are equal: overloads at different lines stay apart, and so do
//! equal names from two jars. It must never mark a function as JavaScript: the front-end would ask a browser
//! for its source.

use std::num::NonZeroU32;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::category::Category;
use crate::ids::{FuncId, ResourceId, SourceId, StringId};
use crate::intern::Interner;
use crate::json::{Column, Repeat};

/// A function, as a stack walk names it.
#[derive(Debug, Clone, Copy)]
pub struct Func<'a> {
    pub name: &'a str,
    pub category: Category,
    pub source: Option<SourceId>,
    /// Where the function begins in its source; lines count from 1, and 0 is none.
    pub line: Option<u32>,
    pub resource: Option<ResourceId>,
    /// Is it a Java method? The front-end's filter `implementation=js` then keeps it, and shows Java alone.
    pub java: bool,
}

/// A function, as the table keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FuncRow {
    pub(crate) name: StringId,
    pub(crate) category: Category,
    pub(crate) source: Option<SourceId>,
    pub(crate) line: Option<NonZeroU32>,
    pub(crate) resource: Option<ResourceId>,
    pub(crate) java: bool,
}

#[derive(Debug, Default)]
pub(crate) struct FuncTable(Interner<FuncRow, FuncId>);

impl FuncTable {
    pub(crate) fn intern(&mut self, name: StringId, func: &Func<'_>) -> FuncId {
        let &Func { name: _, category, source, line, resource, java } = func;
        let line = line.and_then(NonZeroU32::new);
        self.0.intern(FuncRow { name, category, source, line, resource, java })
    }

    pub(crate) fn get(&self, id: FuncId) -> FuncRow {
        self.0.get(id)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

/// A resource's row, or the -1 that stands for none in this one column.
#[derive(Serialize)]
#[serde(untagged)]
enum ResourceCell {
    Row(ResourceId),
    None(i8),
}

impl Serialize for FuncTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.rows();
        let length = rows.len();
        let resource = |func: &FuncRow| func.resource.map_or(ResourceCell::None(-1), ResourceCell::Row);
        let mut table = serializer.serialize_struct("funcTable", 9)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("name", &Column(|| rows.iter().map(|func| func.name)))?;
        table.serialize_field("isJS", &Repeat(false, length))?;
        table.serialize_field("relevantForJS", &Column(|| rows.iter().map(|func| func.java)))?;
        table.serialize_field("resource", &Column(|| rows.iter().map(resource)))?;
        table.serialize_field("source", &Column(|| rows.iter().map(|func| func.source)))?;
        table.serialize_field("lineNumber", &Column(|| rows.iter().map(|func| func.line)))?;
        table.serialize_field("columnNumber", &Repeat((), length))?;
        table.serialize_field("originalLocation", &Repeat((), length))?;
        table.end()
    }
}
