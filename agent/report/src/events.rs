//! What held the program up meanwhile, in words: the time that it stood still, and that its threads waited for each other.
//!
//! Time is added up over threads: what they waited for locks can be more than the run was long.

use std::collections::BTreeMap;

use crate::report::{EventReport, SafepointReport, WaitingReport};
use crate::text::{duration, percent, times};

/// So large a part of the run is worth a line.
const PART: f64 = 0.01;

/// In words; `None` if nothing of it was seen.
pub fn words(
    events: &BTreeMap<String, EventReport>,
    safepoints: Option<SafepointReport>,
    waiting: &[WaitingReport],
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
    let parts: Vec<String> = [pauses, all, locks, still(waiting)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Who wants a lock still: the first that began to.
fn still(waiting: &[WaitingReport]) -> Option<String> {
    let first = waiting.iter().max_by(|one, other| one.waited_ms.total_cmp(&other.waited_ms))?;
    let WaitingReport { thread, class, owner, waited_ms } = first;
    let of = if class.is_empty() { String::new() } else { format!(" of class {class}") };
    let waits = format!("{thread} still waits for a lock{of}, since {}", duration(*waited_ms));
    let owner = owner.as_ref().map_or_else(String::new, |owner| format!(", which {owner} has"));
    let others = match waiting.len() - 1 {
        0 => String::new(),
        1 => " (and one more thread for one)".to_owned(),
        others => format!(" (and {others} more threads for one)"),
    };
    Some(format!("{waits}{owner}{others}"))
}

/// True if a person should read of it who has not asked.
pub fn matter(events: &BTreeMap<String, EventReport>, waiting: &[WaitingReport], wall_ms: f64) -> bool {
    let long = |waiting: &WaitingReport| waiting.waited_ms > PART * wall_ms;
    let mut kinds = ["gc", "monitor"].iter();
    waiting.iter().any(long)
        || kinds.any(|word| events.get(*word).is_some_and(|events| events.took_ms > PART * wall_ms))
}
