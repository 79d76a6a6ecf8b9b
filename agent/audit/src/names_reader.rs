//! Reads stacks that have only a method's name for each frame, without its descriptor, and perhaps
//! a line.
//!
//! The stacks go into the same index as a recording's, but without descriptors and bcis.
//! `overloads` finds out what they may mean. It must never take something else for a method.

mod frame_text;

use foldhash::{HashMap, HashMapExt};
use vouch_sample::ENTRY;

use crate::index::{
    CodeLocation, FrameDetail, KindId, LocationId, Method, MethodId, Node, NodeId, ReasonId, RecordingIndex,
    Stack, StackEnd, Thread, ThreadId,
};
use crate::jfr_names;
use crate::pseudo_frames::PseudoFrame;
use crate::stack_builder::{BuiltStack, StackBuilder};

use frame_text::Frame;

/// Frames beyond this depth are left out at the root.
pub(crate) const MAX_DEPTH: usize = 100_000;
/// The thread name of a file that does not separate threads.
const ALL_THREADS: &str = "[threads not separated]";

/// A frame of a file, classified once for each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFrame(FrameKind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Java(LocationId),
    Failed(ReasonId),
    Pseudo(PseudoFrame),
    /// Outer frames are missing, because the writer left them out.
    LeftOut,
    /// The text is a remark of the profile, and not a frame.
    Remark,
}

/// Adds the stacks of a file of names to the index.
#[derive(Debug)]
pub struct NamesReader<'a> {
    index: &'a mut RecordingIndex,
    kind: KindId,
    /// The frames that were classified, by line and text.
    known: HashMap<u16, HashMap<Box<str>, NamedFrame>>,
}

impl<'a> NamesReader<'a> {
    /// Creates a reader. `hidden` is true if the file certainly shows frames of hidden classes.
    pub(crate) fn new(index: &'a mut RecordingIndex, kind: &str, hidden: bool) -> Self {
        let kind = index.kind_id(kind, kind, true);
        // Names are the least detail; a frame with a line raises it.
        if index.frame_detail == FrameDetail::Bytecode {
            index.frame_detail = FrameDetail::Names;
        }
        index.shows_hidden |= hidden;
        Self { index, kind, known: HashMap::new() }
    }

    /// Returns the id of a thread. With a `tid` of 0 the name may be that of several threads.
    pub fn thread(&mut self, name: &str, tid: u64) -> ThreadId {
        let name = self.index.intern(if name.is_empty() { ALL_THREADS } else { name });
        let (row, _) = self.index.threads.insert_full(Thread { name, tid, number: tid });
        ThreadId::from_row(row)
    }

    /// Returns the frame for a text and a line, where 0 means no line.
    pub fn frame(&mut self, text: &str, line: u32) -> NamedFrame {
        let line = u16::try_from(line).unwrap_or(0);
        if let Some(known) = self.known.get(&line).and_then(|known| known.get(text)) {
            return *known;
        }
        let frame = NamedFrame(match frame_text::parse(text) {
            Frame::Java { class, name, line: line_in_text } => {
                FrameKind::Java(self.location(&class, name, if line == 0 { line_in_text } else { line }))
            }
            Frame::Failed(why) => FrameKind::Failed(self.index.reason_id(why)),
            Frame::Pseudo(what) => FrameKind::Pseudo(what),
            Frame::LeftOut => FrameKind::LeftOut,
            Frame::Remark => FrameKind::Remark,
        });
        self.known.entry(line).or_default().insert(text.into(), frame);
        frame
    }

    fn location(&mut self, class: &str, name: &str, line: u16) -> LocationId {
        let index = &mut *self.index;
        let (class, hidden) = jfr_names::without_hidden_parts(class);
        let hidden = hidden || frame_text::is_hidden(&class);
        index.shows_hidden |= hidden;
        if line > 0 {
            index.frame_detail = FrameDetail::Lines;
        }
        let method = Method {
            class: index.intern(&class),
            hidden,
            loader: index.intern(""),
            name: index.intern(name),
            descriptor: index.intern(""),
            is_static: false,
            is_native: false,
        };
        let (method, _) = index.methods.insert_full(method);
        let (location, _) = index.locations.insert_full(CodeLocation {
            method: MethodId::from_row(method),
            bci: ENTRY,
            line,
        });
        LocationId::from_row(location)
    }

    /// Adds a stack, root first, that occurred `count` times.
    pub fn stack(&mut self, thread: ThreadId, frames: &[NamedFrame], count: u64) {
        let mut builder = StackBuilder::default();
        let first = frames.len().saturating_sub(MAX_DEPTH);
        let mut cut = first > 0;
        for NamedFrame(frame) in &frames[first..] {
            match *frame {
                FrameKind::Java(location) => {
                    builder.add_method(self.index, |index, caller, gap| {
                        let (node, _) =
                            index.nodes.insert_full(Node { caller, location, filtered: false, gap });
                        NodeId::from_row(node)
                    });
                }
                FrameKind::Failed(why) => builder.add_failure(why),
                FrameKind::Pseudo(what) => builder.add_pseudo_frame(what),
                FrameKind::LeftOut if builder.has_method() => {
                    builder.add_pseudo_frame(PseudoFrame::UnknownMethod);
                }
                FrameKind::LeftOut => cut = true,
                FrameKind::Remark => {}
            }
        }
        // The file does not say whether native frames alone belong to a Java thread.
        let stack = match builder.finish(self.index, frames.is_empty(), cut) {
            Some(BuiltStack { leaf: None, end: StackEnd::Complete }) | None => {
                Stack { leaf: None, end: StackEnd::Outside }
            }
            Some(BuiltStack { leaf, end }) => Stack { leaf, end },
        };
        self.index.count(self.kind, thread, stack, count);
    }
}
