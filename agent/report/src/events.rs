//! What held the program up meanwhile, in words: the time that it stood still, and that its threads waited for each other.
//!
//! Time is added up over threads: what they waited for locks can be more than the run was long.

use std::collections::BTreeMap;

use crate::report::{EventReport, SafepointReport};
use crate::text::{duration, grouped, percent};

/// So large a part of the run is worth a line.
const PART: f64 = 0.01;

/// In words; `None` if nothing of it was seen.
pub fn words(
    events: &BTreeMap<String, EventReport>,
    safepoints: Option<SafepointReport>,
    wall_ms: f64,
) -> Option<String> {
    let of = |word: &str| events.get(word).filter(|events| events.count > 0);
    let pauses = of("gc").map(|pauses| {
        let share = percent(100.0 * pauses.took_ms / wall_ms);
        format!("it stood still for {}, {}", counted(pauses, "collection", Some(&share)), longest(pauses))
    });
    let locks = of("monitor")
        .map(|locks| format!("threads waited for {}, {}", counted(locks, "lock", None), longest(locks)));
    let all =
        safepoints.filter(|all| all.count > 0).map(|SafepointReport { count, stopped_ms, reaching_ms }| {
            let (stopped, reaching) = (duration(stopped_ms), duration(reaching_ms));
            format!(
                "for whatever reason it stood {} times, {stopped}, and took {reaching} to stop",
                grouped(count)
            )
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

fn counted(events: &EventReport, name: &str, share: Option<&str>) -> String {
    let plural = if events.count == 1 { "" } else { "s" };
    let share = share.map_or_else(String::new, |share| format!(" ({share} of the time)"));
    format!("{} {name}{plural}, {}{share}", grouped(events.count), duration(events.took_ms))
}

fn longest(events: &EventReport) -> String {
    format!("{} the longest", duration(events.longest_ms))
}
