//! What is against the refuted stacks, each told once: by which place in whose bytecode, and what
//! stood there instead.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

use vouch_recording::{FRAMES_LEFT_OUT, Recording, RefutationId, ThreadId};
use vouch_report::{MAX_LISTED, RefutationReport, WitnessStack, sign};
use vouch_sample::{Bci, ENTRY, ResolvedFrame, ResolvedMethod, Stack};
use vouch_verify::proof::{Refutation as Kind, describe_call, listing};

use super::tree::{OffenceId, Standing};
use crate::jvm::Jvm;
use crate::prove::Prover;
use crate::witness;

/// How many are told apart; further ones share one entry for each kind.
const MOST: usize = 500;
/// How many frames of a stack are told, around the place.
const FRAMES: usize = 60;
/// How many instructions are shown before and after the place.
const AROUND: usize = 5;

/// The place in a stack that is refuted.
#[derive(Debug, Clone, Copy)]
pub enum Against {
    Edge {
        caller: ResolvedFrame,
        callee: ResolvedMethod,
    },
    Leaf(ResolvedFrame),
    Root(ResolvedFrame),
    /// Where the walk and its witness part, seen from their roots: what each has there.
    Witness(Option<ResolvedFrame>, Option<ResolvedFrame>),
    /// One of too many.
    Others,
}

/// An offence and its samples.
#[derive(Debug)]
struct Offence {
    kind: Kind,
    against: Against,
    count: u64,
    told: Option<(RefutationId, RefutationReport)>,
}

/// An offence as a stack shows it.
#[derive(Debug)]
pub struct Edge {
    /// The frame that cannot stand where it does, counted from the leaf; of a stack as a whole the
    /// root.
    pub below: usize,
    pub text: String,
}

/// A stack, with whatever the JVM said of it.
#[derive(Debug, Clone, Copy)]
pub struct Disputed<'a> {
    pub walk: Stack<'a, ResolvedMethod>,
    pub witness: Option<&'a Contradiction>,
}

/// The account that contradicts a walk, as it is told.
#[derive(Debug)]
pub struct Contradiction {
    exact: bool,
    stack: Vec<ResolvedFrame>,
}

impl Contradiction {
    pub fn new(account: &witness::Account, jvm: &mut dyn Jvm) -> Self {
        let mut stack = Vec::with_capacity(account.frames.len());
        // Its ids mean what they mean now.
        jvm.resolve_frames(&account.frames, u64::MAX, &mut stack);
        Self { exact: account.top.is_none(), stack }
    }

    /// How many of the outermost frames of a walk it has, too.
    fn same(&self, walk: &[ResolvedFrame]) -> usize {
        let pairs = walk.iter().rev().zip(self.stack.iter().rev());
        let plain =
            |frame: &ResolvedFrame| (frame.method(), if frame.bci() == ENTRY { 0 } else { frame.bci() });
        pairs.take_while(|(one, other)| plain(one) == plain(other)).count()
    }

    /// Where in a walk, leaf first, the first frame is that it has not.
    pub fn parts(&self, walk: &[ResolvedFrame]) -> Option<usize> {
        walk.len().checked_sub(self.same(walk) + 1)
    }
}

/// All offences.
#[derive(Debug, Default)]
pub struct Offences {
    all: Vec<Offence>,
    known: HashMap<(Kind, Against), OffenceId>,
}

impl Offences {
    /// The offence of this kind and place.
    pub fn id(&mut self, kind: Kind, against: Against) -> OffenceId {
        let Self { all, known } = self;
        if let Some(known) = known.get(&(kind, against)) {
            return *known;
        }
        // Those of the witness's are few, and must find room whatever bytecode says.
        let of_witness = |kind| kind == Kind::Witness;
        let alike = all.iter().filter(|offence| of_witness(offence.kind) == of_witness(kind)).count();
        let against = if alike < MOST { against } else { Against::Others };
        let place = u32::try_from(all.len()).unwrap_or(u32::MAX);
        *known.entry((kind, against)).or_insert_with(|| {
            all.push(Offence { kind, against, count: 0, told: None });
            OffenceId(place)
        })
    }

    /// How a walk stands that its witness contradicts.
    pub fn contradicted(&mut self, walk: &[ResolvedFrame], witness: &Contradiction) -> Standing {
        let same = witness.same(walk);
        let at = |stack: &[ResolvedFrame]| stack.iter().rev().nth(same).copied();
        Standing::Refuted(self.id(Kind::Witness, Against::Witness(at(walk), at(&witness.stack))))
    }

    pub fn kind(&self, id: OffenceId) -> Kind {
        self.all[id.0 as usize].kind
    }

    /// Where in a stack, leaf first, it is, and what there is to read at that place; `parts` is
    /// where its witness begins to differ.
    pub fn edge(&self, id: OffenceId, stack: Stack<'_, ResolvedMethod>, parts: Option<usize>) -> Edge {
        let Offence { kind, against, told, .. } = &self.all[id.0 as usize];
        let at = place_in(stack, *against).unwrap_or_else(|| stack.frames.len().saturating_sub(1));
        let below = match against {
            // Where all of it is in the JVM's account, too, that goes on where the walk has its
            // leaf.
            Against::Witness(..) => parts.unwrap_or(0),
            // What cannot stand there is whom the caller is said to have called.
            Against::Edge { .. } => at.saturating_sub(1),
            Against::Leaf(_) | Against::Root(_) | Against::Others => at,
        };
        let text = match against {
            Against::Others => format!("[✗ somewhere in this stack: {}]", kind.description()),
            _ => sign(*kind, told.as_ref().map_or("", |(_, report)| &report.expected)),
        };
        Edge { below, text }
    }

    /// Counts a sample of a thread, whose stack is given, leaf first. The first one is told.
    pub fn count(
        &mut self,
        id: OffenceId,
        track: ThreadId,
        stack: Disputed<'_>,
        recording: &mut Recording,
        prover: &mut Prover,
        jvm: &mut dyn Jvm,
    ) -> RefutationId {
        let offence = &mut self.all[id.0 as usize];
        offence.count += 1;
        if let Some((told, _)) = &offence.told {
            return *told;
        }
        let report = tell(offence, recording.thread_name(track), stack, prover, jvm);
        let told = report.add_to(recording);
        let report = RefutationReport { number: told.number(), ..report };
        offence.told = Some((told, report));
        told
    }

    /// The most frequent ones that bytecode speaks against.
    pub fn report(&self) -> Vec<RefutationReport> {
        self.most_frequent(|kind| kind != Kind::Witness)
    }

    /// The most frequent ones that the JVM itself contradicts.
    pub fn contradictions(&self) -> Vec<RefutationReport> {
        self.most_frequent(|kind| kind == Kind::Witness)
    }

    fn most_frequent(&self, of: impl Fn(Kind) -> bool) -> Vec<RefutationReport> {
        let mut all: Vec<_> =
            self.all.iter().filter(|offence| offence.count > 0 && of(offence.kind)).collect();
        all.sort_by_key(|offence| Reverse(offence.count));
        all.truncate(MAX_LISTED);
        all.into_iter()
            .filter_map(|offence| {
                let (_, report) = offence.told.as_ref()?;
                Some(RefutationReport { count: offence.count, ..report.clone() })
            })
            .collect()
    }

    /// How many samples were refuted in which way.
    pub fn kinds(&self) -> BTreeMap<String, u64> {
        let mut kinds = BTreeMap::new();
        for offence in self.all.iter().filter(|offence| offence.count > 0) {
            *kinds.entry(offence.kind.name().to_owned()).or_default() += offence.count;
        }
        kinds
    }
}

/// Everything that there is to say, while the methods can be asked.
fn tell(
    offence: &Offence,
    thread: &str,
    Disputed { walk, witness }: Disputed<'_>,
    prover: &mut Prover,
    jvm: &mut dyn Jvm,
) -> RefutationReport {
    let mut name = |id: ResolvedMethod, prover: &mut Prover| match prover.method(id, jvm) {
        Some(method) => method.to_string(),
        None if id.is_none() => "a null method id".to_owned(),
        None => "a method without a known name".to_owned(),
    };
    let (caller, found, expected, place) = match offence.against {
        Against::Edge { caller, callee } => {
            let expected =
                prover.known(caller.method()).map_or_else(String::new, |it| describe_call(it, caller.bci()));
            let found = name(callee, prover);
            (name(caller.method(), prover), found, expected, Some(caller))
        }
        Against::Leaf(leaf) => {
            let expected =
                prover.known(leaf.method()).map_or_else(String::new, |it| describe_call(it, leaf.bci()));
            (name(leaf.method(), prover), String::new(), expected, Some(leaf))
        }
        Against::Root(root) => {
            let expected = format!("the beginning of thread \"{thread}\"");
            (String::new(), name(root.method(), prover), expected, Some(root))
        }
        Against::Witness(walk, witness) => {
            let mut there = |frame: Option<ResolvedFrame>| {
                frame.map_or_else(|| "nothing".to_owned(), |frame| line(frame, jvm))
            };
            (String::new(), there(walk), there(witness), None)
        }
        Against::Others => (String::new(), String::new(), format!("one of more than {MOST} others"), None),
    };
    let at = match (offence.against, witness) {
        (Against::Witness(..), Some(witness)) => witness.parts(walk.frames),
        (against, _) => place_in(walk, against),
    };
    let (lines, shown_at) = around(walk, at, jvm);
    let witness = witness.map(|contradiction| {
        let Contradiction { exact, stack } = contradiction;
        let parts = stack.len().checked_sub(contradiction.same(walk.frames) + 1);
        let grade = if *exact { "exact" } else { "all_but_top" }.to_owned();
        WitnessStack { grade, stack: around(Stack::whole(stack), parts, jvm).0 }
    });
    let code = place.and_then(|place| Some(listing(prover.known(place.method())?, place.bci(), AROUND)));
    RefutationReport {
        number: 0,
        count: 0,
        kind: offence.kind,
        caller,
        bci: place.map_or(0, ResolvedFrame::bci),
        line: None,
        expected,
        found,
        stack: lines,
        at: shown_at,
        code: code.unwrap_or_default(),
        witness,
    }
}

/// A stack's lines around a place, and which of them is the place. Where it is cut there is a line
/// for that.
fn around(
    stack: Stack<'_, ResolvedMethod>,
    at: Option<usize>,
    jvm: &mut dyn Jvm,
) -> (Vec<String>, Option<usize>) {
    let frames = stack.frames;
    let first = at.unwrap_or(0).saturating_sub(FRAMES / 2);
    let last = first.saturating_add(FRAMES).min(frames.len());
    let mut lines = Vec::new();
    let mut shown_at = None;
    if first > 0 {
        lines.push(format!("… {first} frames"));
    }
    for (place, frame) in frames.iter().enumerate().take(last).skip(first) {
        if stack.cut.is_some_and(|cut| cut.at as usize == place) {
            lines.push(FRAMES_LEFT_OUT.to_owned());
        }
        if at == Some(place) {
            shown_at = Some(lines.len());
        }
        lines.push(line(*frame, jvm));
    }
    if last < frames.len() {
        lines.push(format!("… {} frames", frames.len() - last));
    }
    (lines, shown_at)
}

/// `com.foo.Bar.baz(Bar.java:12) @ 7`
fn line(frame: ResolvedFrame, jvm: &mut dyn Jvm) -> String {
    let Some(method) = jvm.method(frame.method()) else {
        return format!("[unknown method] @ {}", frame.bci());
    };
    let source = method.class.source.as_deref();
    let file = source.map(|path| path.rsplit('/').next().unwrap_or(path));
    let place = match (file, method.line(frame.bci())) {
        (Some(file), Some(line)) => format!("({file}:{line})"),
        (Some(file), None) => format!("({file})"),
        _ => String::new(),
    };
    format!("{}{place} @ {}", method.full_name(), frame.bci())
}

/// Where in a stack the refuted frame stands: an edge's caller under its callee, the leaf first,
/// the root last.
fn place_in(stack: Stack<'_, ResolvedMethod>, against: Against) -> Option<usize> {
    match against {
        Against::Edge { caller, callee } => {
            let is_edge = |pair: &[ResolvedFrame]| pair[0].method() == callee && pair[1] == caller;
            // Of several it is the outermost by which the stack stands.
            let (inner, outer) = (stack.inner(), stack.outer());
            let beyond = outer.windows(2).rposition(is_edge).map(|callee| inner.len() + callee + 1);
            beyond.or_else(|| inner.windows(2).rposition(is_edge).map(|callee| callee + 1))
        }
        Against::Leaf(_) => Some(0),
        Against::Root(_) => stack.frames.len().checked_sub(1),
        Against::Witness(..) | Against::Others => None,
    }
}

impl Against {
    fn parts(self) -> (u8, ResolvedMethod, Bci, ResolvedMethod) {
        match self {
            Self::Edge { caller, callee } => (0, caller.method(), caller.bci(), callee),
            Self::Leaf(leaf) => (1, leaf.method(), leaf.bci(), ResolvedMethod::NONE),
            // Wherever in it the walk lost its way.
            Self::Root(root) => (2, root.method(), 0, ResolvedMethod::NONE),
            Self::Witness(walk, witness) => {
                let method =
                    |frame: Option<ResolvedFrame>| frame.map_or(ResolvedMethod::NONE, ResolvedFrame::method);
                (3, method(walk), walk.map_or(0, ResolvedFrame::bci), method(witness))
            }
            Self::Others => (4, ResolvedMethod::NONE, 0, ResolvedMethod::NONE),
        }
    }
}

impl PartialEq for Against {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Against {}

impl Hash for Against {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}
