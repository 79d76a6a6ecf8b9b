//! Counts refutations of stacks, and reports each one once. A report names the refuted frame, the
//! bytecode that refutes it, and what that bytecode expects instead.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};

use vouch_recording::{FRAMES_LEFT_OUT, Recording, RefutationId, ThreadId};
use vouch_report::{MAX_LISTED, RefutationReport, WitnessStack, sign};
use vouch_sample::{Bci, Call, ENTRY, ResolvedFrame, ResolvedMethod, Stack};
use vouch_verify::proof::{Refutation as Kind, describe_call, listing};

use super::tree::{RefutationIndex, Standing};
use crate::jvm::Jvm;
use crate::prove::Prover;
use crate::witness;

/// The maximum number of distinct refutations with their own entry. Further ones share one entry
/// for each kind. Refutations by witnesses have a separate limit, equally high.
const MAX_DISTINCT: usize = 500;
/// The maximum number of frames that a report lists, around the refuted one.
const FRAMES: usize = 60;
/// The number of bytecode instructions that a report lists on either side of the refuted bci.
const AROUND: usize = 5;

/// The part of a stack that is refuted.
#[derive(Debug, Clone, Copy)]
pub enum Against {
    Edge {
        caller: ResolvedFrame,
        callee: ResolvedMethod,
    },
    Leaf(ResolvedFrame),
    Root(ResolvedFrame),
    /// The first frames, counted from the root, in which a walk and its witness differ. The walk's
    /// frame comes first. `None` means that this stack has ended there.
    Witness(Option<ResolvedFrame>, Option<ResolvedFrame>),
    /// A refutation beyond the limit, recorded without its frames.
    Others,
}

/// A distinct refutation, and the number of samples that it has refuted.
#[derive(Debug)]
struct CountedRefutation {
    kind: Kind,
    against: Against,
    count: u64,
    reported: Option<(RefutationId, RefutationReport)>,
}

/// The line that marks a refutation within a displayed stack.
#[derive(Debug)]
pub struct Edge {
    /// The index, from the leaf, of the frame that cannot be there. If the whole stack is refuted
    /// it is the root's index.
    pub below: usize,
    pub text: String,
}

/// A refuted walk, and the stack from GetStackTrace if that contradicts it.
#[derive(Debug, Clone, Copy)]
pub struct Disputed<'a> {
    pub walk: Stack<'a, ResolvedMethod>,
    pub witness: Option<&'a Contradiction>,
}

/// The stack from GetStackTrace that contradicts a walk, with resolved methods.
#[derive(Debug)]
pub struct Contradiction {
    exact: bool,
    stack: Vec<ResolvedFrame>,
}

impl Contradiction {
    pub fn new(jvm_stack: &witness::JvmStack, jvm: &mut dyn Jvm) -> Self {
        let mut stack = Vec::with_capacity(jvm_stack.frames.len());
        // The ids are fresh, so they resolve to their current methods.
        jvm.resolve_frames(&jvm_stack.frames, u64::MAX, &mut stack);
        Self { exact: jvm_stack.top.is_none(), stack }
    }

    /// Counts the outermost frames that the walk and its witness have in common.
    fn common_outermost_frames(&self, walk: &[ResolvedFrame]) -> usize {
        let pairs = walk.iter().rev().zip(self.stack.iter().rev());
        let plain =
            |frame: &ResolvedFrame| (frame.method(), if frame.bci() == ENTRY { 0 } else { frame.bci() });
        pairs.take_while(|(one, other)| plain(one) == plain(other)).count()
    }

    /// Finds the outermost of a walk's frames that GetStackTrace did not return. Returns its index
    /// from the leaf, or `None` if GetStackTrace returned all frames.
    pub fn parts(&self, walk: &[ResolvedFrame]) -> Option<usize> {
        walk.len().checked_sub(self.common_outermost_frames(walk) + 1)
    }
}

/// All distinct refutations of a recording.
#[derive(Debug, Default)]
pub struct Refutations {
    all: Vec<CountedRefutation>,
    known: HashMap<(Kind, Against), RefutationIndex>,
}

impl Refutations {
    /// Returns the entry for a kind of refutation and a part of a stack, and adds it if it is new.
    pub fn id(&mut self, kind: Kind, against: Against) -> RefutationIndex {
        let Self { all, known } = self;
        if let Some(known) = known.get(&(kind, against)) {
            return *known;
        }
        // Refutations by witnesses are few. They have their own limit, so that refutations by
        // bytecode never crowd them out.
        let of_witness = |kind| kind == Kind::Witness;
        let alike = all.iter().filter(|refutation| of_witness(refutation.kind) == of_witness(kind)).count();
        let against = if alike < MAX_DISTINCT { against } else { Against::Others };
        let place = u32::try_from(all.len()).unwrap_or(u32::MAX);
        *known.entry((kind, against)).or_insert_with(|| {
            all.push(CountedRefutation { kind, against, count: 0, reported: None });
            RefutationIndex(place)
        })
    }

    /// Refutes a walk that its witness contradicts.
    pub fn contradicted(&mut self, walk: &[ResolvedFrame], witness: &Contradiction) -> Standing {
        let same = witness.common_outermost_frames(walk);
        let at = |stack: &[ResolvedFrame]| stack.iter().rev().nth(same).copied();
        Standing::Refuted(self.id(Kind::Witness, Against::Witness(at(walk), at(&witness.stack))))
    }

    pub fn kind(&self, id: RefutationIndex) -> Kind {
        self.all[id.0 as usize].kind
    }

    /// Finds the position of a refutation in a stack, and describes it. `parts` is the index, from
    /// the leaf, of the outermost frame that the witness lacks.
    pub fn edge(&self, id: RefutationIndex, stack: Stack<'_, ResolvedMethod>, parts: Option<usize>) -> Edge {
        let CountedRefutation { kind, against, reported, .. } = &self.all[id.0 as usize];
        let at = place_in(stack, *against).unwrap_or_else(|| stack.frames.len().saturating_sub(1));
        let below = match against {
            // `None` means that the JVM has every frame of the walk, and continues beyond its leaf.
            Against::Witness(..) => parts.unwrap_or(0),
            // The callee is the frame that the caller cannot have called.
            Against::Edge { .. } => at.saturating_sub(1),
            Against::Leaf(_) | Against::Root(_) | Against::Others => at,
        };
        let text = match against {
            Against::Others => format!("[✗ somewhere in this stack: {}]", kind.description()),
            _ => sign(*kind, reported.as_ref().map_or("", |(_, report)| &report.expected)),
        };
        Edge { below, text }
    }

    /// Counts a refuted sample of a thread. The stack is leaf first. The first sample of a
    /// refutation also adds its report to the recording.
    pub fn count(
        &mut self,
        id: RefutationIndex,
        track: ThreadId,
        stack: Disputed<'_>,
        recording: &mut Recording,
        prover: &mut Prover,
        jvm: &mut dyn Jvm,
    ) -> RefutationId {
        let refutation = &mut self.all[id.0 as usize];
        refutation.count += 1;
        if let Some((reported, _)) = &refutation.reported {
            return *reported;
        }
        let report = new_report(refutation, recording.thread_name(track), stack, prover, jvm);
        let reported = report.add_to(recording);
        let report = RefutationReport { number: reported.number(), ..report };
        refutation.reported = Some((reported, report));
        reported
    }

    /// Reports the most frequent refutations by bytecode, at most `MAX_LISTED`.
    pub fn report(&self) -> Vec<RefutationReport> {
        self.most_frequent(|kind| kind != Kind::Witness)
    }

    /// Reports the most frequent refutations by witnesses, at most `MAX_LISTED`.
    pub fn contradictions(&self) -> Vec<RefutationReport> {
        self.most_frequent(|kind| kind == Kind::Witness)
    }

    fn most_frequent(&self, of: impl Fn(Kind) -> bool) -> Vec<RefutationReport> {
        let mut all: Vec<_> =
            self.all.iter().filter(|refutation| refutation.count > 0 && of(refutation.kind)).collect();
        all.sort_by_key(|refutation| Reverse(refutation.count));
        all.truncate(MAX_LISTED);
        all.into_iter()
            .filter_map(|refutation| {
                let (_, report) = refutation.reported.as_ref()?;
                Some(RefutationReport { count: refutation.count, ..report.clone() })
            })
            .collect()
    }

    /// Returns the number of refuted samples for each kind of refutation, by its name.
    pub fn kinds(&self) -> BTreeMap<String, u64> {
        let mut kinds = BTreeMap::new();
        for refutation in self.all.iter().filter(|refutation| refutation.count > 0) {
            *kinds.entry(refutation.kind.name().to_owned()).or_default() += refutation.count;
        }
        kinds
    }
}

/// Writes the report of a refutation. It runs at the first sample, while the JVM still resolves the
/// methods.
fn new_report(
    refutation: &CountedRefutation,
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
    let (caller, found, expected, place) = match refutation.against {
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
        Against::Others => {
            (String::new(), String::new(), format!("one of more than {MAX_DISTINCT} others"), None)
        }
    };
    let at = match (refutation.against, witness) {
        (Against::Witness(..), Some(witness)) => witness.parts(walk.frames),
        (against, _) => place_in(walk, against),
    };
    let (lines, shown_at) = lines_around(walk, at, jvm);
    let witness = witness.map(|contradiction| {
        let Contradiction { exact, stack } = contradiction;
        let parts = stack.len().checked_sub(contradiction.common_outermost_frames(walk.frames) + 1);
        let grade = if *exact { "exact" } else { "all_but_top" }.to_owned();
        WitnessStack { grade, stack: lines_around(Stack::whole(stack), parts, jvm).0 }
    });
    let code = place.and_then(|place| Some(listing(prover.known(place.method())?, place.bci(), AROUND)));
    RefutationReport {
        number: 0,
        count: 0,
        kind: refutation.kind,
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

/// Formats at most `FRAMES` frames of a stack around one of them. Returns the lines, and the index
/// of that frame's line. Additional lines say where frames are left out.
fn lines_around(
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

/// Writes a frame as a line of a report: `com.foo.Bar.baz(Bar.java:12) @ 7`.
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

/// Finds the refuted frame in a stack, as an index from the leaf. For an edge it is the caller, for
/// a root the last frame.
fn place_in(stack: Stack<'_, ResolvedMethod>, against: Against) -> Option<usize> {
    match against {
        Against::Edge { caller, callee } => {
            // If the edge occurs several times, the outermost one decides the verdict.
            let is_edge =
                |call: &Call<ResolvedMethod>| call.callee.method() == callee && call.caller == caller;
            stack.edges().rev().find(is_edge).map(|call| call.caller_at)
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
            // The bci is left out: a walk may go wrong at any bci of its root method.
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
