//! Writes the tables that all threads share, column by column.
//!
//! These tables must never have:
//!
//! * an address in a frame, since the front-end would look for the code of a native library;
//! * a reference to a row of `libs`, since libraries have debug ids and code of a JIT has none;
//! * a function marked as JavaScript, since the front-end would request its source from a browser;
//! * the text of a source file. The front-end asks its user for that.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{Category, FrameRow, FuncRow, Id, Recording, ResourceId, StackRow};

use crate::categories::{Parts, index};
use crate::json::{Column, Repeat, Row};

/// The front-end's number for resources that are libraries. The front-end shows their names in
/// tooltips and function lists, unless it shows a source file.
const LIBRARY: u8 = 1;

pub struct Shared<'a>(pub &'a Recording);

impl Serialize for Shared<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let recording = self.0;
        let mut shared = serializer.serialize_struct("shared", 8)?;
        shared.serialize_field("stringArray", &Column(|| recording.strings().iter()))?;
        shared.serialize_field("sources", &Sources(recording))?;
        shared.serialize_field("resourceTable", &Resources(recording))?;
        shared.serialize_field("funcTable", &Funcs(recording.funcs().rows()))?;
        shared.serialize_field("frameTable", &Frames(recording))?;
        shared.serialize_field("stackTable", &Stacks(recording.stacks().rows()))?;
        shared.serialize_field("nativeSymbols", &NativeSymbols::default())?;
        shared.serialize_field("sourceLocationTable", &SourceLocations::default())?;
        shared.end()
    }
}

struct Sources<'a>(&'a Recording);

impl Serialize for Sources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.sources().rows();
        let length = rows.len();
        let mut table = serializer.serialize_struct("sources", 7)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("id", &Repeat((), length))?;
        table.serialize_field("filename", &Column(|| rows.iter().copied().map(Row)))?;
        table.serialize_field("startLine", &Repeat(1, length))?;
        table.serialize_field("startColumn", &Repeat(1, length))?;
        table.serialize_field("sourceMapURL", &Repeat((), length))?;
        table.serialize_field("content", &Repeat((), length))?;
        table.end()
    }
}

struct Resources<'a>(&'a Recording);

impl Serialize for Resources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.resources().rows();
        let length = rows.len();
        let mut table = serializer.serialize_struct("resourceTable", 5)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("lib", &Repeat((), length))?;
        table.serialize_field("name", &Column(|| rows.iter().copied().map(Row)))?;
        table.serialize_field("host", &Repeat((), length))?;
        table.serialize_field("type", &Repeat(LIBRARY, length))?;
        table.end()
    }
}

struct Funcs<'a>(&'a [FuncRow]);

/// The row of a resource, or -1 for no resource. All other columns use null for a missing row.
#[derive(Serialize)]
#[serde(untagged)]
enum ResourceCell {
    Row(Row<ResourceId>),
    None(i8),
}

impl Serialize for Funcs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(rows) = self;
        let length = rows.len();
        let resource = |func: &FuncRow| {
            func.resource.map_or(ResourceCell::None(-1), |resource| ResourceCell::Row(Row(resource)))
        };
        let mut table = serializer.serialize_struct("funcTable", 9)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("name", &Column(|| rows.iter().map(|func| Row(func.name))))?;
        table.serialize_field("isJS", &Repeat(false, length))?;
        // The front-end's filter `implementation=js` keeps these functions, so it shows only Java.
        table.serialize_field("relevantForJS", &Column(|| rows.iter().map(|func| func.java)))?;
        table.serialize_field("resource", &Column(|| rows.iter().map(resource)))?;
        table.serialize_field("source", &Column(|| rows.iter().map(|func| func.source.map(Row))))?;
        table.serialize_field("lineNumber", &Column(|| rows.iter().map(|func| func.line)))?;
        table.serialize_field("columnNumber", &Repeat((), length))?;
        table.serialize_field("originalLocation", &Repeat((), length))?;
        table.end()
    }
}

struct Frames<'a>(&'a Recording);

impl Frames<'_> {
    fn rows(&self) -> &[FrameRow] {
        self.0.frames().rows()
    }

    /// Returns the category of each frame, which is the category of the frame's function.
    fn categories(&self) -> impl Iterator<Item = Category> {
        self.rows().iter().map(|frame| self.0.funcs().get(frame.func).category)
    }

    fn parts(&self, parts: &Parts) -> impl Iterator<Item = usize> {
        self.rows().iter().map(|frame| {
            let func = self.0.funcs().get(frame.func);
            parts.index(func.category, frame.leaf, self.0.strings().get(func.name))
        })
    }
}

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.rows();
        let length = rows.len();
        let mut table = serializer.serialize_struct("frameTable", 11)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("address", &Repeat(-1, length))?;
        table.serialize_field("inlineDepth", &Repeat(0, length))?;
        table.serialize_field("category", &Column(|| self.categories().map(index)))?;
        let parts = Parts::new();
        table.serialize_field("subcategory", &Column(|| self.parts(&parts)))?;
        table.serialize_field("func", &Column(|| rows.iter().map(|frame| Row(frame.func))))?;
        table.serialize_field("nativeSymbol", &Repeat((), length))?;
        table.serialize_field("innerWindowID", &Repeat((), length))?;
        table.serialize_field("line", &Column(|| rows.iter().map(|frame| frame.line)))?;
        table.serialize_field("column", &Repeat((), length))?;
        table.serialize_field("originalLocation", &Repeat((), length))?;
        table.end()
    }
}

struct Stacks<'a>(&'a [StackRow]);

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(rows) = self;
        let offset = |(row, stack): (usize, &StackRow)| stack.parent.map_or(0, |parent| row - parent.row());
        let mut table = serializer.serialize_struct("stackTable", 3)?;
        table.serialize_field("length", &rows.len())?;
        table.serialize_field("frame", &Column(|| rows.iter().map(|stack| Row(stack.frame))))?;
        table.serialize_field("prefixOffset", &Column(|| rows.iter().enumerate().map(offset)))?;
        table.end()
    }
}

/// The table of native symbols. It is empty for Java code, but the front-end requires it.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct NativeSymbols {
    length: u8,
    lib_index: [(); 0],
    address: [(); 0],
    name: [(); 0],
    function_size: [(); 0],
}

/// The table for JavaScript's source maps, which is empty.
#[derive(Default, Serialize)]
struct SourceLocations {
    length: u8,
    source: [(); 0],
    line: [(); 0],
    column: [(); 0],
}
