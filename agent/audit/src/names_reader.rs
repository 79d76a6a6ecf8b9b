//! Stacks of names: of a frame such a file says its method, without what it takes, and its line
//! perhaps.
//!
//! They are taken in as a recording's are, but for descriptors and bcis; `readings` finds out what
//! they may mean. It must never take what is no method for one.

mod frame_text;

use foldhash::{HashMap, HashMapExt};
use vouch_sample::ENTRY;

use crate::index::{
    End, KindId, Method, MethodId, Node, NodeId, Place, PlaceId, ReasonId, Says, Seen, Stack, Thread,
    ThreadId,
};
use crate::jfr_names;
use crate::pseudo_frames::Foreign;
use crate::stack_builder::{Climb, Foot};

use frame_text::Frame;

/// Of a deeper stack the outer frames are left out.
pub(crate) const DEEPEST: usize = 100_000;
/// Where threads are not told apart.
const ALL_THREADS: &str = "[threads not separated]";

/// A frame, as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word(ResolvedFrame);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResolvedFrame {
    Java(PlaceId),
    Failed(ReasonId),
    Foreign(Foreign),
    /// Outer frames are lacking.
    LeftOut,
    /// A remark: it stands for no frame.
    Remark,
}

/// Takes in the stacks of a file.
#[derive(Debug)]
pub struct Named<'a> {
    seen: &'a mut Seen,
    kind: KindId,
    /// By line and text.
    known: HashMap<u16, HashMap<Box<str>, Word>>,
}

impl<'a> Named<'a> {
    /// `hidden`: it is known that frames of classes without a name of their own are shown.
    pub(crate) fn new(seen: &'a mut Seen, kind: &str, hidden: bool) -> Self {
        let kind = seen.kind(kind, kind, true);
        // The least that is said of any: a line will show.
        if seen.says == Says::Places {
            seen.says = Says::Names;
        }
        seen.shows_hidden |= hidden;
        Self { seen, kind, known: HashMap::new() }
    }

    /// A thread, and the kernel's number of it; 0: those of that name may be several.
    pub fn thread(&mut self, name: &str, tid: u64) -> ThreadId {
        let name = self.seen.text(if name.is_empty() { ALL_THREADS } else { name });
        let (row, _) = self.seen.threads.insert_full(Thread { name, tid, number: tid });
        ThreadId::of(row)
    }

    /// A frame by what it is called there, with its line or 0.
    pub fn word(&mut self, text: &str, line: u32) -> Word {
        let line = u16::try_from(line).unwrap_or(0);
        if let Some(known) = self.known.get(&line).and_then(|known| known.get(text)) {
            return *known;
        }
        let word = Word(match frame_text::frame(text) {
            Frame::Java { class, name, line: named } => {
                ResolvedFrame::Java(self.place(&class, name, if line == 0 { named } else { line }))
            }
            Frame::Failed(why) => ResolvedFrame::Failed(self.seen.reason(why)),
            Frame::Foreign(what) => ResolvedFrame::Foreign(what),
            Frame::LeftOut => ResolvedFrame::LeftOut,
            Frame::Remark => ResolvedFrame::Remark,
        });
        self.known.entry(line).or_default().insert(text.into(), word);
        word
    }

    fn place(&mut self, class: &str, name: &str, line: u16) -> PlaceId {
        let seen = &mut *self.seen;
        let (class, hidden) = jfr_names::without_hidden_parts(class);
        let hidden = hidden || frame_text::is_hidden(&class);
        seen.shows_hidden |= hidden;
        if line > 0 {
            seen.says = Says::Lines;
        }
        let method = Method {
            class: seen.text(&class),
            hidden,
            loader: seen.text(""),
            name: seen.text(name),
            descriptor: seen.text(""),
            is_static: false,
            is_native: false,
        };
        let (method, _) = seen.methods.insert_full(method);
        let (place, _) = seen.places.insert_full(Place { method: MethodId::of(method), bci: ENTRY, line });
        PlaceId::of(place)
    }

    /// A stack from its root to its leaf, and how often it was there.
    pub fn stack(&mut self, thread: ThreadId, words: &[Word], count: u64) {
        let mut climb = Climb::default();
        let first = words.len().saturating_sub(DEEPEST);
        let mut cut = first > 0;
        for Word(word) in &words[first..] {
            match *word {
                ResolvedFrame::Java(place) => {
                    climb.java(self.seen, |seen, above, gap| {
                        let (node, _) = seen.nodes.insert_full(Node { above, place, filtered: false, gap });
                        NodeId::of(node)
                    });
                }
                ResolvedFrame::Failed(why) => climb.failed(why),
                ResolvedFrame::Foreign(what) => climb.foreign(what),
                ResolvedFrame::LeftOut if climb.has_begun() => climb.foreign(Foreign::Unnamed),
                ResolvedFrame::LeftOut => cut = true,
                ResolvedFrame::Remark => {}
            }
        }
        // Native frames alone: whether they are a Java thread's is not said.
        let stack = match climb.foot(self.seen, words.is_empty(), cut) {
            Some(Foot { leaf: None, end: End::Whole }) | None => Stack { leaf: None, end: End::Outside },
            Some(Foot { leaf, end }) => Stack { leaf, end },
        };
        self.seen.count(self.kind, thread, stack, count);
    }
}
