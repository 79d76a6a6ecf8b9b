//! The tables to which samples refer. Each row is there once, and only if something refers to it.
//! The first row of each table is empty, because an index of 0 refers to nothing.

use std::hash::Hash;
use std::io::{self, Write};
use std::iter;

use indexmap::IndexSet;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::profiles::v1development::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, ProfilesDictionary, Stack,
};
use prost::Message;
use vouch_recording::{Category, FRAMES_LEFT_OUT, FrameId, FrameRow, Id, Recording, StackId};

use super::message::{begin_message, field_len, write_message};
use crate::cut::CutStacks;

/// The number of the dictionary's field for stacks, which are written one by one.
const STACK_TABLE: u32 = 7;

/// The attribute for the language of a frame, as the semantic conventions name it.
const FRAME_TYPE: &str = "profile.frame.type";

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
}

/// A frame: its function and line, the file that its code is from, and its attribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Frame {
    line: Line,
    mapping: i32,
    /// The attribute with the language of the frame.
    language: i32,
}

pub struct Dictionary<'r> {
    recording: &'r Recording,
    cut: CutStacks<'r>,
    strings: IndexSet<String>,
    /// Each attribute has the row of its key in `strings`.
    attributes: IndexSet<(i32, AttributeValue)>,
    links: IndexSet<Link>,
    mappings: IndexSet<Mapping>,
    functions: IndexSet<Function>,
    frames: IndexSet<Frame>,
    /// The nodes of the tree of all stacks: the caller's node, and the row of the frame.
    nodes: IndexSet<(Option<usize>, i32)>,
    /// The leaf's node of each stack. `None` is the empty stack.
    stacks: IndexSet<Option<usize>>,
    /// The row of each stack of the recording, or 0 if no sample needed it yet.
    known: Vec<i32>,
    /// The same for each frame.
    known_frames: Vec<i32>,
}

impl<'r> Dictionary<'r> {
    pub fn new(recording: &'r Recording) -> Self {
        Self {
            recording,
            cut: CutStacks::new(recording),
            strings: IndexSet::from([String::new()]),
            attributes: IndexSet::from([(0, AttributeValue::Number(0))]),
            links: IndexSet::from([Link::default()]),
            mappings: IndexSet::from([Mapping::default()]),
            functions: IndexSet::from([Function::default()]),
            frames: IndexSet::from([Frame::default()]),
            nodes: IndexSet::new(),
            stacks: IndexSet::from([None]),
            known: vec![0; recording.stacks().rows().len()],
            known_frames: vec![0; recording.frames().rows().len()],
        }
    }

    pub fn string(&mut self, text: &str) -> i32 {
        match self.strings.get_index_of(text) {
            Some(at) => index(at),
            None => row(&mut self.strings, text.to_owned()),
        }
    }

    pub fn attribute(&mut self, key: &str, value: AttributeValue) -> i32 {
        let key = self.string(key);
        row(&mut self.attributes, (key, value))
    }

    pub fn text(&mut self, key: &str, value: &str) -> i32 {
        self.attribute(key, AttributeValue::Text(value.to_owned()))
    }

    pub fn link(&mut self, trace_id: Vec<u8>, span_id: Vec<u8>) -> i32 {
        row(&mut self.links, Link { trace_id, span_id })
    }

    /// Returns the row of a stack.
    pub fn stack(&mut self, stack: StackId) -> i32 {
        let at = stack.row();
        if self.known[at] == 0 {
            let frames: Vec<_> = self.cut.frames(stack).map(|row| row.map(|row| row.frame)).collect();
            let mut node = None;
            for frame in frames.into_iter().rev() {
                let frame = match frame {
                    Some(frame) => self.frame(frame),
                    None => self.frames_left_out(),
                };
                node = Some(self.nodes.insert_full((node, frame)).0);
            }
            self.known[at] = row(&mut self.stacks, node);
        }
        self.known[at]
    }

    fn frames_left_out(&mut self) -> i32 {
        let function = Function { name_strindex: self.string(FRAMES_LEFT_OUT), ..Function::default() };
        let line = Line { function_index: row(&mut self.functions, function), ..Line::default() };
        row(&mut self.frames, Frame { line, ..Frame::default() })
    }

    fn frame(&mut self, frame: FrameId) -> i32 {
        let at = frame.row();
        if self.known_frames[at] == 0 {
            self.known_frames[at] = self.new_frame(self.recording.frames().get(frame));
        }
        self.known_frames[at]
    }

    fn new_frame(&mut self, FrameRow { func, line, .. }: FrameRow) -> i32 {
        let recording = self.recording;
        let text = |id| recording.strings().get(id);
        let func = recording.funcs().get(func);
        let line = line.map_or(0, |line| line.get().into());
        let function = Function {
            name_strindex: self.string(text(func.name)),
            filename_strindex: match func.source {
                Some(source) => self.string(text(recording.sources().get(source))),
                None => 0,
            },
            start_line: func.line.map_or(0, |line| line.get().into()),
            ..Function::default()
        };
        let line = Line { function_index: row(&mut self.functions, function), line, ..Line::default() };
        let mapping = func.resource.map(|resource| Mapping {
            filename_strindex: self.string(text(recording.resources().get(resource))),
            ..Mapping::default()
        });
        let language = match func.category {
            _ if func.java => Some("jvm"),
            Category::Native | Category::Jvm => Some("native"),
            Category::Kernel => Some("kernel"),
            _ => None,
        };
        let frame = Frame {
            line,
            mapping: mapping.map_or(0, |mapping| row(&mut self.mappings, mapping)),
            language: language.map_or(0, |name| self.text(FRAME_TYPE, name)),
        };
        row(&mut self.frames, frame)
    }

    /// Writes all tables as a field of the whole message.
    pub fn write(self, out: &mut impl Write, tag: u32) -> io::Result<()> {
        let Self { strings, attributes, links, mappings, functions, frames, nodes, stacks, .. } = self;
        let tables = ProfilesDictionary {
            mapping_table: mappings.into_iter().collect(),
            location_table: frames.into_iter().map(Frame::into_location).collect(),
            function_table: functions.into_iter().collect(),
            link_table: links.into_iter().collect(),
            string_table: strings.into_iter().collect(),
            attribute_table: attributes.into_iter().map(into_attribute).collect(),
            stack_table: Vec::new(),
        };
        let stack = |leaf: &Option<usize>| {
            let callers = iter::successors(*leaf, |node| nodes[*node].0);
            Stack { location_indices: callers.map(|node| nodes[node].1).collect() }
        };
        let of_stacks = stacks.iter().map(|leaf| field_len(STACK_TABLE, stack(leaf).encoded_len()));
        begin_message(out, tag, tables.encoded_len() + of_stacks.sum::<usize>())?;
        out.write_all(&tables.encode_to_vec())?;
        stacks.iter().try_for_each(|leaf| write_message(out, STACK_TABLE, &stack(leaf)))
    }
}

impl Frame {
    fn into_location(self) -> Location {
        let Self { line, mapping, language } = self;
        Location {
            mapping_index: mapping,
            lines: [line].into_iter().filter(|line| line.function_index > 0).collect(),
            attribute_indices: [language].into_iter().filter(|row| *row > 0).collect(),
            ..Location::default()
        }
    }
}

/// Makes the row of an attribute. The first row has no key, and so no value.
fn into_attribute((key, value): (i32, AttributeValue)) -> KeyValueAndUnit {
    let value = match value {
        AttributeValue::Text(text) => Value::StringValue(text),
        AttributeValue::Number(number) => Value::IntValue(number),
    };
    let value = (key > 0).then_some(AnyValue { value: Some(value) });
    KeyValueAndUnit { key_strindex: key, value, unit_strindex: 0 }
}

/// Returns the row of a value, which is added if it is new.
fn row<T: Hash + Eq>(table: &mut IndexSet<T>, value: T) -> i32 {
    index(table.insert_full(value).0)
}

/// Converts a row to the format's type. A table with more rows would not fit into memory.
fn index(row: usize) -> i32 {
    i32::try_from(row).unwrap_or(i32::MAX)
}
