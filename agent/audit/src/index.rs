//! All that a recording shows: its methods, places, stacks, threads and kinds of events, once each,
//! and how often each came with which.
//!
//! It must never keep an event: its memory goes by what is unlike, and not by how long the
//! recording is.

use std::rc::Rc;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};
use vouch_sample::{Bci, ResolvedFrame, ResolvedMethod};

/// Rows of tables.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// A table with more rows would take all memory.
            pub fn of(row: usize) -> Self {
                Self(u32::try_from(row).unwrap_or(u32::MAX))
            }

            pub fn row(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

rows! {
    MethodId;
    PlaceId;
    NodeId;
    StackId;
    ThreadId;
    KindId;
    ReasonId;
}

impl MethodId {
    /// As proof has it, for which 0 is no method.
    pub fn meaning(self) -> ResolvedMethod {
        ResolvedMethod(self.row() + 1)
    }

    pub fn of_meaning(meaning: ResolvedMethod) -> Option<Self> {
        meaning.0.checked_sub(1).map(Self::of)
    }
}

/// A method, as the recording names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Method {
    /// As in `java/lang/String`; a hidden class is without the part that tells it from others of
    /// its name.
    pub class: Rc<str>,
    /// It had such a part.
    pub hidden: bool,
    /// Whose loader it is, as far as the recording says; empty: one of the JVM's own.
    pub loader: Rc<str>,
    pub name: Rc<str>,
    pub descriptor: Rc<str>,
    pub is_static: bool,
    pub is_native: bool,
}

/// A method, and where in it a frame stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    pub method: MethodId,
    /// As proof has it.
    pub bci: Bci,
    /// 0: the recording has none.
    pub line: u16,
}

/// A frame, and the node of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub above: Option<NodeId>,
    pub place: PlaceId,
    /// Of a kind of events of whose stacks the recorder leaves frames out.
    pub filtered: bool,
    /// Frames are lacking between this one and that above: methods that the recording does not
    /// name.
    pub gap: bool,
}

/// What a recording says of a stack besides its Java frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// It says nothing: this is all of it.
    Whole,
    /// It was cut at a limit: the outer frames are lacking.
    Cut,
    /// The walk ended there, and says why.
    Broken(ReasonId),
    /// There are no Java frames, but native ones, up to where a thread begins.
    Outside,
    /// There are none, and this stands in their place.
    None(ReasonId),
}

/// A stack by its leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stack {
    pub leaf: Option<NodeId>,
    pub end: End,
}

/// A thread, as the recording names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Thread {
    pub name: Rc<str>,
    /// The kernel's number, and Java's.
    pub tid: u64,
    pub number: u64,
}

/// What came of a kind of events.
#[derive(Debug, Default)]
pub struct Kind {
    pub label: String,
    /// Each of them was to have a stack.
    pub samples: bool,
    /// Those that the recording itself says it has lost.
    pub lost: u64,
}

/// What a recording says of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Says {
    /// Its method, and where in its bytecode it stands.
    #[default]
    Places,
    /// The method's name, and the line,
    Lines,
    /// or no line.
    Names,
}

/// A recording, gone through.
#[derive(Debug, Default)]
pub struct Seen {
    pub says: Says,
    /// Of one that says names: frames of classes that have none of their own are among them.
    pub shows_hidden: bool,
    pub methods: IndexSet<Method, RandomState>,
    pub places: IndexSet<Place, RandomState>,
    pub nodes: IndexSet<Node, RandomState>,
    pub stacks: IndexSet<Stack, RandomState>,
    pub threads: IndexSet<Thread, RandomState>,
    pub kinds: IndexMap<String, Kind>,
    /// Why stacks are not there, or end too early, in the recorder's own words.
    pub reasons: IndexSet<String>,
    /// How many events of a kind a thread had with a stack.
    pub counts: HashMap<(KindId, ThreadId, StackId), u64>,
    texts: HashMap<Box<str>, Rc<str>>,
}

impl Seen {
    /// What is here but for methods and stacks, taken away.
    pub fn without_stacks(&mut self) -> Self {
        Self {
            says: self.says,
            shows_hidden: self.shows_hidden,
            threads: std::mem::take(&mut self.threads),
            kinds: std::mem::take(&mut self.kinds),
            reasons: std::mem::take(&mut self.reasons),
            ..Self::default()
        }
    }

    /// A text, kept once.
    pub fn text(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let kept: Rc<str> = text.into();
        self.texts.insert(text.into(), kept.clone());
        kept
    }

    pub fn reason(&mut self, why: &str) -> ReasonId {
        let known = self.reasons.get_index_of(why);
        ReasonId::of(known.unwrap_or_else(|| self.reasons.insert_full(why.to_owned()).0))
    }

    pub fn kind(&mut self, name: &str, label: &str, samples: bool) -> KindId {
        let known = self.kinds.get_index_of(name);
        KindId::of(known.unwrap_or_else(|| {
            let kind = Kind { label: label.to_owned(), samples, lost: 0 };
            self.kinds.insert_full(name.to_owned(), kind).0
        }))
    }

    /// How many events of a kind each thread had.
    pub fn counts_of(&self, kind: &str) -> impl Iterator<Item = (ThreadId, u64)> {
        let kind = self.kinds.get_index_of(kind).map(KindId::of);
        let counts = self.counts.iter().filter(move |((of, _, _), _)| Some(*of) == kind);
        counts.map(|((_, thread, _), count)| (*thread, *count))
    }

    /// What the recording calls a kind.
    pub fn name(&self, kind: KindId) -> &str {
        self.kinds.get_index(kind.row()).map_or("", |(name, _)| name)
    }

    /// True if frames of lambdas are left out, as far as anybody knows.
    pub fn hides(&self) -> bool {
        self.says != Says::Places && !self.shows_hidden
    }

    pub fn method(&self, method: MethodId) -> &Method {
        &self.methods[method.row()]
    }

    pub fn place(&self, place: PlaceId) -> Place {
        self.places[place.row()]
    }

    pub fn node(&self, node: NodeId) -> Node {
        self.nodes[node.row()]
    }

    /// The places from a node on, the innermost first.
    pub fn places_from(&self, leaf: Option<NodeId>) -> impl Iterator<Item = PlaceId> {
        self.nodes_from(leaf).map(|node| node.place)
    }

    /// The frames from a node on, the innermost first.
    pub fn nodes_from(&self, leaf: Option<NodeId>) -> impl Iterator<Item = Node> {
        let mut next = leaf;
        std::iter::from_fn(move || {
            let node = self.node(next?);
            next = node.above;
            Some(node)
        })
    }

    /// How many events have a stack through each node.
    pub fn weights(&self) -> Vec<u64> {
        let mut weights = vec![0; self.nodes.len()];
        for ((_, _, stack), count) in &self.counts {
            if let Some(leaf) = self.stacks[stack.row()].leaf {
                add(&mut weights[leaf.row()], *count);
            }
        }
        // Callers stand before what they call.
        for (row, node) in self.nodes.iter().enumerate().rev() {
            if let Some(above) = node.above {
                let weight = weights[row];
                add(&mut weights[above.row()], weight);
            }
        }
        weights
    }

    pub fn count(&mut self, kind: KindId, thread: ThreadId, stack: Stack, events: u64) {
        let (stack, _) = self.stacks.insert_full(stack);
        let count = self.counts.entry((kind, thread, StackId::of(stack))).or_default();
        *count = count.saturating_add(events);
    }
}

/// A damaged file may have any numbers in it.
pub fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl Place {
    pub fn meant(self) -> ResolvedFrame {
        ResolvedFrame::new(self.method.meaning(), self.bci)
    }
}
