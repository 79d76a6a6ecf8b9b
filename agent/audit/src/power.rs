//! What this audit could have noticed: corruptions made on purpose in the recording's own stacks,
//! judged as those were.

use std::collections::{BTreeMap, HashMap};

use vouch_report::Power;
use vouch_sample::{Bci, ENTRY};
use vouch_verify::proof::{Body, Corruption, FrameWithMethod, Gone, KnownFrame, Method, Verdict, edge};

use crate::index::{MethodId, NodeId, Place, Says, Seen};
use crate::judge::Judge;
use crate::overloads;

/// How many corruptions of each kind are made.
const TRIALS: u32 = 2_000;
/// What is wrong anywhere is as wrong in another stack, and few of the deepest can be gone through.
const SHALLOW: usize = 1_000;

/// By corruption, of the stacks with these leaves.
pub fn power(seen: &Seen, judge: &mut Judge<'_>, leaves: &[NodeId]) -> BTreeMap<String, Power> {
    let leaves: Vec<NodeId> =
        leaves.iter().copied().filter(|leaf| seen.places_from(Some(*leaf)).nth(SHALLOW).is_none()).collect();
    if seen.says != Says::Places {
        let all = (0..seen.methods.len()).map(MethodId::of);
        let methods: Vec<Method> = all.map(|method| anywhere(judge.method(method))).collect();
        let mut names = Names::of(seen);
        let method = |id: MethodId| &methods[id.row()];
        return each(seen, &leaves, method, |caller, callee| names.refute(seen, judge, caller, callee));
    }
    // By code of which nothing says that it ran nothing would be refuted.
    let all = (0..seen.methods.len()).map(MethodId::of).filter(|method| !judge.is_known(*method));
    let blind: HashMap<MethodId, Method> = all
        .map(|method| (method, Method { body: Body::Gone(Gone::Unread), ..judge.method(method).clone() }))
        .collect();
    let (methods, sure, mut relation) = judge.apart();
    let method = |id: MethodId| blind.get(&id).unwrap_or(&methods[id.row()]);
    each(seen, &leaves, method, |(at, caller), (_, callee)| {
        match edge(caller, at.bci(), callee, |named| relation(named, Some(callee))) {
            Verdict::Refuted(kind) => sure.counts(at, kind),
            Verdict::Proven | Verdict::Explained(_) => false,
        }
    })
}

fn each<'m>(
    seen: &Seen,
    leaves: &[NodeId],
    method: impl Fn(MethodId) -> &'m Method,
    mut refutes: impl FnMut(FrameWithMethod<'m>, FrameWithMethod<'m>) -> bool,
) -> BTreeMap<String, Power> {
    let known = |place| {
        let place = seen.place(place);
        KnownFrame { frame: place.meant(), method: Some(method(place.method)) }
    };
    let powers = Corruption::ALL.map(|corruption| {
        let noticed = vouch_verify::proof::power(
            corruption,
            TRIALS,
            leaves.len(),
            |row| seen.places_from(Some(leaves[row])).map(&known).collect(),
            &mut refutes,
            |_, _| false,
        );
        (corruption.name().to_owned(), Power { tried: noticed.tried, noticed: noticed.by_proof })
    });
    powers.into()
}

/// A method, as if threads began in it: of names that is judged of few threads, and not counted for
/// any.
fn anywhere(method: &Method) -> Method {
    Method { name: "run".into(), descriptor: "()V".into(), is_static: false, ..method.clone() }
}

/// A method's class and name, by a number.
type Name = usize;

/// Of a recording of names a corruption is noticed if no reading of the names allows it.
struct Names {
    of: Vec<Name>,
    methods: Vec<Vec<MethodId>>,
    asked: HashMap<(Name, Option<u16>, Name), bool>,
}

impl Names {
    fn of(seen: &Seen) -> Self {
        let mut numbers = HashMap::new();
        let mut names = Self { of: Vec::new(), methods: Vec::new(), asked: HashMap::new() };
        for (row, method) in seen.methods.iter().enumerate() {
            let next = names.methods.len();
            let name = *numbers.entry((&method.class, &method.name)).or_insert(next);
            if name == next {
                names.methods.push(Vec::new());
            }
            names.methods[name].push(MethodId::of(row));
            names.of.push(name);
        }
        names
    }

    fn refute(
        &mut self,
        seen: &Seen,
        judge: &mut Judge<'_>,
        (at, _): FrameWithMethod<'_>,
        (frame, _): FrameWithMethod<'_>,
    ) -> bool {
        let of = |meaning| MethodId::of_meaning(meaning).filter(|method| method.row() < self.of.len());
        let (Some(caller), Some(callee)) = (of(at.method()), of(frame.method())) else { return false };
        let line = line(seen, judge, caller, at.bci());
        let key = (self.of[caller.row()], line, self.of[callee.row()]);
        if let Some(known) = self.asked.get(&key) {
            return *known;
        }
        let refuted = self.methods[key.0].iter().all(|method| {
            standing(seen, judge, *method, line).into_iter().all(|bci| {
                let place = Place { method: *method, bci, line: line.unwrap_or(0) };
                self.methods[key.2].iter().all(|callee| match judge.ask(seen, place, *callee) {
                    Ok(Verdict::Refuted(kind)) => judge.counts(place.meant(), kind),
                    _ => false,
                })
            })
        });
        self.asked.insert(key, refuted);
        refuted
    }
}

/// The line that the recording would have of a place.
fn line(seen: &Seen, judge: &Judge<'_>, method: MethodId, bci: Bci) -> Option<u16> {
    let declared = judge.versions.declared(seen.method(method))?;
    u16::try_from(bci).ok().filter(|_| seen.says == Says::Lines).and_then(|bci| declared.line(bci))
}

/// Where a frame of that line may stand; where nobody knows, in one place that refutes nothing.
fn standing(seen: &Seen, judge: &Judge<'_>, method: MethodId, line: Option<u16>) -> Vec<Bci> {
    let declared = judge.versions.declared(seen.method(method));
    declared.map_or_else(|| vec![ENTRY], |declared| overloads::places(declared, line.unwrap_or(0)))
}
