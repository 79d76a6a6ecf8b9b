//! Measures the power of an audit: it corrupts the recording's own stacks, and judges them in the
//! same way.

use std::collections::{BTreeMap, HashMap};

use vouch_report::Power;
use vouch_sample::{Bci, ENTRY};
use vouch_verify::proof::{Body, Corruption, FrameWithMethod, Gone, KnownFrame, Method, Verdict, edge};

use crate::index::{CodeLocation, FrameDetail, MethodId, NodeId, RecordingIndex};
use crate::judge::Judge;
use crate::overloads;

/// The audit tries this many corruptions of each kind.
const TRIALS_PER_CORRUPTION: u32 = 2_000;
/// A stack with more frames than this is not corrupted. An error in it is as visible as in others,
/// and few could be tried.
const MAX_STACK_DEPTH: usize = 1_000;

/// Returns the power by corruption, for the stacks with these leaves.
pub fn power(index: &RecordingIndex, judge: &mut Judge<'_>, leaves: &[NodeId]) -> BTreeMap<String, Power> {
    let leaves: Vec<NodeId> = leaves
        .iter()
        .copied()
        .filter(|leaf| index.locations_from(Some(*leaf)).nth(MAX_STACK_DEPTH).is_none())
        .collect();
    if index.frame_detail != FrameDetail::Bytecode {
        let all = (0..index.methods.len()).map(MethodId::from_row);
        let methods: Vec<Method> = all.map(|method| as_thread_root(judge.method(method))).collect();
        let mut names = NamePairs::new(index);
        let method = |id: MethodId| &methods[id.row()];
        return measure(index, &leaves, method, |caller, callee| names.refute(index, judge, caller, callee));
    }
    // Code that may not have run refutes nothing, so it is treated as unread.
    let all =
        (0..index.methods.len()).map(MethodId::from_row).filter(|method| !judge.is_loaded_code(*method));
    let blind: HashMap<MethodId, Method> = all
        .map(|method| (method, Method { body: Body::Gone(Gone::Unread), ..judge.method(method).clone() }))
        .collect();
    let (methods, trusted, mut relation) = judge.split();
    let method = |id: MethodId| blind.get(&id).unwrap_or(&methods[id.row()]);
    measure(index, &leaves, method, |(at, caller), (_, callee)| {
        match edge(caller, at.bci(), callee, |named| relation(named, Some(callee))) {
            Verdict::Refuted(kind) => trusted.counts(at, kind),
            Verdict::Proven | Verdict::Explained(_) => false,
        }
    })
}

fn measure<'m>(
    index: &RecordingIndex,
    leaves: &[NodeId],
    method: impl Fn(MethodId) -> &'m Method,
    mut refutes: impl FnMut(FrameWithMethod<'m>, FrameWithMethod<'m>) -> bool,
) -> BTreeMap<String, Power> {
    let known = |location| {
        let location = index.location(location);
        KnownFrame { frame: location.frame(), method: Some(method(location.method)) }
    };
    let powers = Corruption::ALL.map(|corruption| {
        let noticed = vouch_verify::proof::power(
            corruption,
            TRIALS_PER_CORRUPTION,
            leaves.len(),
            |row| index.locations_from(Some(leaves[row])).map(&known).collect(),
            &mut refutes,
            |_, _| false,
        );
        (corruption.name().to_owned(), Power { tried: noticed.tried, noticed: noticed.by_proof })
    });
    powers.into()
}

/// Returns a method that may be any thread's root. Roots are judged for few threads of a file of
/// names, so they must not count as noticed.
fn as_thread_root(method: &Method) -> Method {
    Method { name: "run".into(), descriptor: "()V".into(), is_static: false, ..method.clone() }
}

/// A number for a class and method name.
type NameId = usize;

/// Judges pairs of names. A corruption counts as noticed if no overloads of the two names allow it.
struct NamePairs {
    of: Vec<NameId>,
    methods: Vec<Vec<MethodId>>,
    known: HashMap<(NameId, Option<u16>, NameId), bool>,
}

impl NamePairs {
    fn new(index: &RecordingIndex) -> Self {
        let mut numbers = HashMap::new();
        let mut names = Self { of: Vec::new(), methods: Vec::new(), known: HashMap::new() };
        for (row, method) in index.methods.iter().enumerate() {
            let next = names.methods.len();
            let name = *numbers.entry((&method.class, &method.name)).or_insert(next);
            if name == next {
                names.methods.push(Vec::new());
            }
            names.methods[name].push(MethodId::from_row(row));
            names.of.push(name);
        }
        names
    }

    fn refute(
        &mut self,
        index: &RecordingIndex,
        judge: &mut Judge<'_>,
        (at, _): FrameWithMethod<'_>,
        (frame, _): FrameWithMethod<'_>,
    ) -> bool {
        let of = |meaning| MethodId::from_meaning(meaning).filter(|method| method.row() < self.of.len());
        let (Some(caller), Some(callee)) = (of(at.method()), of(frame.method())) else { return false };
        let line = line_of(index, judge, caller, at.bci());
        let key = (self.of[caller.row()], line, self.of[callee.row()]);
        if let Some(refuted) = self.known.get(&key) {
            return *refuted;
        }
        let refuted = self.methods[key.0].iter().all(|method| {
            possible_bcis(index, judge, *method, line).into_iter().all(|bci| {
                let location = CodeLocation { method: *method, bci, line: line.unwrap_or(0) };
                self.methods[key.2].iter().all(|callee| match judge.judge_edge(index, location, *callee) {
                    Ok(Verdict::Refuted(kind)) => judge.counts(location.frame(), kind),
                    _ => false,
                })
            })
        });
        self.known.insert(key, refuted);
        refuted
    }
}

/// Returns the line that the recording would have for a bci.
fn line_of(index: &RecordingIndex, judge: &Judge<'_>, method: MethodId, bci: Bci) -> Option<u16> {
    let declared = judge.versions.declared(index.method(method))?;
    u16::try_from(bci)
        .ok()
        .filter(|_| index.frame_detail == FrameDetail::Lines)
        .and_then(|bci| declared.line(bci))
}

/// Returns the bcis that a frame with this line may have. If they are unknown, it returns one that
/// refutes nothing.
fn possible_bcis(index: &RecordingIndex, judge: &Judge<'_>, method: MethodId, line: Option<u16>) -> Vec<Bci> {
    let declared = judge.versions.declared(index.method(method));
    declared.map_or_else(|| vec![ENTRY], |declared| overloads::call_sites(declared, line.unwrap_or(0)))
}
