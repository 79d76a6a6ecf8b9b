//! The table of resources, "which bag of code did this come from": a jar, a module, a native library.
//!
//! It must never point at a row of `libs`: those carry debug ids, which code that a JVM compiles has not.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::ids::{ResourceId, StringId};
use crate::intern::Interner;
use crate::json::{Column, Repeat};

/// The front-end's number for "library": it names such a resource in the tooltip and in the client's
/// function lists, and leaves it out where a source file is shown already.
const LIBRARY: u8 = 1;

#[derive(Debug, Default)]
pub(crate) struct ResourceTable(Interner<StringId, ResourceId>);

impl ResourceTable {
    pub(crate) fn intern(&mut self, name: StringId) -> ResourceId {
        self.0.intern(name)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Serialize for ResourceTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = self.0.rows().len();
        let mut table = serializer.serialize_struct("resourceTable", 5)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("lib", &Repeat((), length))?;
        table.serialize_field("name", &Column(|| self.0.rows().iter()))?;
        table.serialize_field("host", &Repeat((), length))?;
        table.serialize_field("type", &Repeat(LIBRARY, length))?;
        table.end()
    }
}
