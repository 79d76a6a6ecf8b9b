//! What this audit could have noticed: corruptions made on purpose in the recording's own stacks, judged as those were.

use std::collections::{BTreeMap, HashMap};

use vouch_proof::{Body, Corruption, Gone, Known, Method};
use vouch_report::Power;

use crate::judge::Judge;
use crate::seen::{MethodId, NodeId, Seen};

/// How many corruptions of each kind are made.
const TRIALS: u32 = 2_000;
/// What is wrong anywhere is as wrong in another stack, and few of the deepest can be gone through.
const SHALLOW: usize = 1_000;

/// By corruption, of the stacks with these leaves.
pub fn power(seen: &Seen, judge: &mut Judge<'_>, leaves: &[NodeId]) -> BTreeMap<String, Power> {
    let leaves: Vec<NodeId> =
        leaves.iter().copied().filter(|leaf| seen.places_from(Some(*leaf)).nth(SHALLOW).is_none()).collect();
    // By code of which nothing says that it ran nothing would be refuted.
    let all = (0..seen.methods.len()).map(MethodId::of).filter(|method| !judge.is_known(*method));
    let blind: HashMap<MethodId, Method> = all
        .map(|method| (method, Method { body: Body::Gone(Gone::Unread), ..judge.method(method).clone() }))
        .collect();
    let powers = Corruption::ALL.map(|corruption| {
        let (methods, sure, mut relation) = judge.apart();
        let known = |place| {
            let place = seen.place(place);
            let method = blind.get(&place.method).unwrap_or(&methods[place.method.row()]);
            Known { frame: place.meant(), method: Some(method) }
        };
        let noticed = vouch_proof::power(
            corruption,
            TRIALS,
            leaves.len(),
            |row| seen.places_from(Some(leaves[row])).map(known).collect(),
            |_, named, callee| relation(named, callee.method),
            |caller, kind| sure.counts(caller.frame, kind),
            |_, _| false,
        );
        (corruption.name().to_owned(), Power { tried: noticed.tried, noticed: noticed.by_proof })
    });
    powers.into()
}
