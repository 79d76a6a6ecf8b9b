//! Stacks of names: of a frame such a file says its method, without what it takes, and its line
//! perhaps.
//!
//! They are taken in as a recording's are, but for descriptors and bcis; `readings` finds out what
//! they may mean. It must never take what is no method for one.

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

/// Of a deeper stack the outer frames are left out.
pub(crate) const MAX_DEPTH: usize = 100_000;
/// Where threads are not told apart.
const ALL_THREADS: &str = "[threads not separated]";

/// A frame, as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFrame(FrameKind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Java(LocationId),
    Failed(ReasonId),
    Pseudo(PseudoFrame),
    /// Outer frames are lacking.
    LeftOut,
    /// A remark: it stands for no frame.
    Remark,
}

/// Takes in the stacks of a file.
#[derive(Debug)]
pub struct NamesReader<'a> {
    index: &'a mut RecordingIndex,
    kind: KindId,
    /// By line and text.
    known: HashMap<u16, HashMap<Box<str>, NamedFrame>>,
}

impl<'a> NamesReader<'a> {
    /// `hidden`: it is known that frames of classes without a name of their own are shown.
    pub(crate) fn new(index: &'a mut RecordingIndex, kind: &str, hidden: bool) -> Self {
        let kind = index.kind_id(kind, kind, true);
        // The least that is said of any: a line will show.
        if index.frame_detail == FrameDetail::Bytecode {
            index.frame_detail = FrameDetail::Names;
        }
        index.shows_hidden |= hidden;
        Self { index, kind, known: HashMap::new() }
    }

    /// A thread, and the kernel's number of it; 0: those of that name may be several.
    pub fn thread(&mut self, name: &str, tid: u64) -> ThreadId {
        let name = self.index.intern(if name.is_empty() { ALL_THREADS } else { name });
        let (row, _) = self.index.threads.insert_full(Thread { name, tid, number: tid });
        ThreadId::from_row(row)
    }

    /// A frame by what it is called there, with its line or 0.
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

    /// A stack from its root to its leaf, and how often it was there.
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
                    builder.add_pseudo_frame(PseudoFrame::UnknownMethod)
                }
                FrameKind::LeftOut => cut = true,
                FrameKind::Remark => {}
            }
        }
        // Native frames alone: whether they are a Java thread's is not said.
        let stack = match builder.finish(self.index, frames.is_empty(), cut) {
            Some(BuiltStack { leaf: None, end: StackEnd::Complete }) | None => {
                Stack { leaf: None, end: StackEnd::Outside }
            }
            Some(BuiltStack { leaf, end }) => Stack { leaf, end },
        };
        self.index.count(self.kind, thread, stack, count);
    }
}
