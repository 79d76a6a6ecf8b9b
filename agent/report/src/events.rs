//! What held the program up meanwhile, in words: the time that it stood still, and that its threads waited for each other.
//!
//! Time is added up over threads: what they waited for locks can be more than the run was long.

use std::collections::BTreeMap;

use crate::report::{EventReport, SafepointReport};
use crate::text::{duration, percent, times};

/// So large a part of the run is worth a line.
const PART: f64 = 0.01;

/// In words; `None` if nothing of it was seen.
pub fn words(
    events: &BTreeMap<String, EventReport>,
    safepoints: Option<SafepointReport>,
    wall_ms: f64,
) -> Option<String> {
    let of = |word: &str| events.get(word).filter(|events| events.count > 0);
    let pauses = of("gc").map(|EventReport { count, took_ms, longest_ms, .. }| {
        let share = percent(100.0 * took_ms / wall_ms);
        let (took, longest) = (duration(*took_ms), duration(*longest_ms));
        format!(
            "it stood still for the collector {}, {took} ({share} of the time), {longest} the longest",
            times(*count)
        )
    });
    let locks = of("monitor").map(|EventReport { count, took_ms, longest_ms, .. }| {
        let (took, longest) = (duration(*took_ms), duration(*longest_ms));
        format!("threads waited {} for a lock, {took} in all, {longest} the longest", times(*count))
    });
    let all = safepoints.filter(|all| all.count > 0);
    let all = all.map(|SafepointReport { count, stopped_ms, reaching_ms }| {
        let (stopped, reaching) = (duration(stopped_ms), duration(reaching_ms));
        format!("for whatever reason it stood {}, {stopped}, and took {reaching} to stop", times(count))
    });
    let parts: Vec<String> = [pauses, all, locks].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// True if a person should read of it who has not asked.
pub fn matter(events: &BTreeMap<String, EventReport>, wall_ms: f64) -> bool {
    ["gc", "monitor"]
        .iter()
        .any(|word| events.get(*word).is_some_and(|events| events.took_ms > PART * wall_ms))
}
