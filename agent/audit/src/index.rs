//! The index of a recording: each distinct method, location, stack, thread and event kind once,
//! with counts of how they occur together.
//!
//! It must never keep an event. Its memory grows with the number of distinct stacks, not with the
//! length of the recording.

use std::rc::Rc;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};
use vouch_sample::{Bci, ResolvedFrame, ResolvedMethod};

/// Declares types for row numbers, one for each table of the index.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// Makes the id of a row. A table with more than `u32::MAX` rows would not fit into
            /// memory.
            pub fn from_row(row: usize) -> Self {
                Self(u32::try_from(row).unwrap_or(u32::MAX))
            }

            /// Returns the row of this id in its table.
            pub fn row(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

rows! {
    MethodId;
    LocationId;
    NodeId;
    StackId;
    ThreadId;
    KindId;
    ReasonId;
}

impl MethodId {
    /// Returns the id that proof uses for this method. The id 0 means no method.
    pub fn resolved_method(self) -> ResolvedMethod {
        ResolvedMethod(self.row() + 1)
    }

    /// Returns the method for an id that proof uses, or `None` for proof's "no method".
    pub fn from_meaning(meaning: ResolvedMethod) -> Option<Self> {
        meaning.0.checked_sub(1).map(Self::from_row)
    }
}

/// A method with the names that the recording has for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Method {
    /// The class name, as in `java/lang/String`. For a hidden class it lacks the suffix that the VM
    /// added.
    pub class: Rc<str>,
    /// True if the VM had added a suffix to the class name.
    pub hidden: bool,
    /// The name of the class loader, if the recording has one. It is empty for the JVM's built-in
    /// loaders.
    pub loader: Rc<str>,
    pub name: Rc<str>,
    pub descriptor: Rc<str>,
    pub is_static: bool,
    pub is_native: bool,
}

/// A location in the code: a method with a bytecode index and a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeLocation {
    pub method: MethodId,
    /// The bytecode index, or one of the special values that proof uses.
    pub bci: Bci,
    /// The line number, or 0 if the recording has none.
    pub line: u16,
}

/// A frame in the tree of stacks, with a link to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub caller: Option<NodeId>,
    pub location: LocationId,
    /// True if the recorder filters stacks of this event's kind.
    pub filtered: bool,
    /// True if frames are missing between this one and its caller, because the recording does not
    /// name their methods.
    pub gap: bool,
}

/// The way in which a stack ends at its root, as the recording describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StackEnd {
    /// The stack reaches the root.
    Complete,
    /// The recorder cut the outer frames at its depth limit.
    Truncated,
    /// The walk broke off for this reason.
    Broken(ReasonId),
    /// The thread ran no Java: all frames are native, up to the start of the thread.
    Outside,
    /// The event has no stack, for this reason.
    Missing(ReasonId),
}

/// A stack: the node of its leaf, and the way in which it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stack {
    pub leaf: Option<NodeId>,
    pub end: StackEnd,
}

/// A thread with the names and ids that the recording has for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Thread {
    pub name: Rc<str>,
    /// The kernel's thread id, or 0 if it is unknown.
    pub tid: u64,
    /// Java's thread id, or 0 if it is unknown.
    pub number: u64,
}

/// A kind of events, with the number of samples that the recorder lost.
#[derive(Debug, Default)]
pub struct EventKind {
    pub label: String,
    /// True for samples: each of them should have a stack.
    pub samples: bool,
    /// The number of samples that the recorder reports as lost.
    pub lost: u64,
}

/// How precisely a recording describes a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FrameDetail {
    /// Frames have the method with its descriptor, and the bytecode index.
    #[default]
    Bytecode,
    /// Frames have the method's name and the line.
    Lines,
    /// Frames have only the method's name.
    Names,
}

/// The distinct methods, stacks, threads and event kinds of a recording, with the counts of events.
#[derive(Debug, Default)]
pub struct RecordingIndex {
    pub frame_detail: FrameDetail,
    /// True if a recording that has only names certainly shows frames of hidden classes.
    pub shows_hidden: bool,
    pub methods: IndexSet<Method, RandomState>,
    pub locations: IndexSet<CodeLocation, RandomState>,
    pub nodes: IndexSet<Node, RandomState>,
    pub stacks: IndexSet<Stack, RandomState>,
    pub threads: IndexSet<Thread, RandomState>,
    pub kinds: IndexMap<String, EventKind>,
    /// The recorder's own words for missing and broken stacks.
    pub reasons: IndexSet<String>,
    /// The number of events by kind, thread and stack.
    pub counts: HashMap<(KindId, ThreadId, StackId), u64>,
    texts: HashMap<Box<str>, Rc<str>>,
}

impl RecordingIndex {
    /// Moves threads, kinds and reasons to a new index. Methods, stacks and counts stay in this
    /// one.
    pub fn take_all_but_stacks(&mut self) -> Self {
        Self {
            frame_detail: self.frame_detail,
            shows_hidden: self.shows_hidden,
            threads: std::mem::take(&mut self.threads),
            kinds: std::mem::take(&mut self.kinds),
            reasons: std::mem::take(&mut self.reasons),
            ..Self::default()
        }
    }

    /// Returns the one shared copy of a text.
    pub fn intern(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let kept: Rc<str> = text.into();
        self.texts.insert(text.into(), kept.clone());
        kept
    }

    /// Returns the id of a reason, which is added if it is new.
    pub fn reason_id(&mut self, why: &str) -> ReasonId {
        let known = self.reasons.get_index_of(why);
        ReasonId::from_row(known.unwrap_or_else(|| self.reasons.insert_full(why.to_owned()).0))
    }

    /// Returns the id of a kind of events, which is added if it is new.
    pub fn kind_id(&mut self, name: &str, label: &str, samples: bool) -> KindId {
        let known = self.kinds.get_index_of(name);
        KindId::from_row(known.unwrap_or_else(|| {
            let kind = EventKind { label: label.to_owned(), samples, lost: 0 };
            self.kinds.insert_full(name.to_owned(), kind).0
        }))
    }

    /// Returns the number of events of a kind for each thread.
    pub fn counts_of(&self, kind: &str) -> impl Iterator<Item = (ThreadId, u64)> {
        let kind = self.kinds.get_index_of(kind).map(KindId::from_row);
        let counts = self.counts.iter().filter(move |((known, _, _), _)| Some(*known) == kind);
        counts.map(|((_, thread, _), count)| (*thread, *count))
    }

    /// Returns the recording's name for a kind of events.
    pub fn kind_name(&self, kind: KindId) -> &str {
        self.kinds.get_index(kind.row()).map_or("", |(name, _)| name)
    }

    /// True if the recording may leave out frames of lambdas.
    pub fn hides_lambda_frames(&self) -> bool {
        self.frame_detail != FrameDetail::Bytecode && !self.shows_hidden
    }

    pub fn method(&self, method: MethodId) -> &Method {
        &self.methods[method.row()]
    }

    pub fn location(&self, location: LocationId) -> CodeLocation {
        self.locations[location.row()]
    }

    pub fn node(&self, node: NodeId) -> Node {
        self.nodes[node.row()]
    }

    /// Returns the locations from a node to its root, innermost first.
    pub fn locations_from(&self, leaf: Option<NodeId>) -> impl Iterator<Item = LocationId> {
        self.nodes_from(leaf).map(|node| node.location)
    }

    /// Returns the frames from a node to its root, innermost first.
    pub fn nodes_from(&self, leaf: Option<NodeId>) -> impl Iterator<Item = Node> {
        let mut next = leaf;
        std::iter::from_fn(move || {
            let node = self.node(next?);
            next = node.caller;
            Some(node)
        })
    }

    /// Returns for each node the number of events with a stack through it.
    pub fn weights(&self) -> Vec<u64> {
        let mut weights = vec![0; self.nodes.len()];
        for ((_, _, stack), count) in &self.counts {
            if let Some(leaf) = self.stacks[stack.row()].leaf {
                add(&mut weights[leaf.row()], *count);
            }
        }
        // A caller always has a smaller row than its callee, so one pass is enough.
        for (row, node) in self.nodes.iter().enumerate().rev() {
            if let Some(caller) = node.caller {
                let weight = weights[row];
                add(&mut weights[caller.row()], weight);
            }
        }
        weights
    }

    /// Counts events of a kind in which a thread had this stack.
    pub fn count(&mut self, kind: KindId, thread: ThreadId, stack: Stack, events: u64) {
        let (stack, _) = self.stacks.insert_full(stack);
        let count = self.counts.entry((kind, thread, StackId::from_row(stack))).or_default();
        *count = count.saturating_add(events);
    }
}

/// Adds to a sum without overflow, because a damaged file may contain any number.
pub fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl CodeLocation {
    /// Returns this location in the form that proof needs.
    pub fn frame(self) -> ResolvedFrame {
        ResolvedFrame::new(self.method.resolved_method(), self.bci)
    }
}
