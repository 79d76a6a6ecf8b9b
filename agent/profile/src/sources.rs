//! The table of source files, by the path that a class file gives: `com/foo/Bar.java`.
//!
//! It must never read a source file: `content` is left null, and the front-end asks its user for the text.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::ids::{SourceId, StringId};
use crate::intern::Interner;
use crate::json::{Column, Repeat};

#[derive(Debug, Default)]
pub(crate) struct SourceTable(Interner<StringId, SourceId>);

impl SourceTable {
    pub(crate) fn intern(&mut self, path: StringId) -> SourceId {
        self.0.intern(path)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Serialize for SourceTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = self.0.rows().len();
        let mut table = serializer.serialize_struct("sources", 7)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("id", &Repeat((), length))?;
        table.serialize_field("filename", &Column(|| self.0.rows().iter()))?;
        table.serialize_field("startLine", &Repeat(1, length))?;
        table.serialize_field("startColumn", &Repeat(1, length))?;
        table.serialize_field("sourceMapURL", &Repeat((), length))?;
        table.serialize_field("content", &Repeat((), length))?;
        table.end()
    }
}
