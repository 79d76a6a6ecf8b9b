//! A sentence about what delayed the program: pauses, waits for locks, class loading and
//! compilation.
//!
//! Times are summed over threads, so all waits for locks can take longer than the run.

use crate::jvm::{ClassReport, CompilerReport, EventReport, SafepointReport, WaitingReport};
use crate::report::Run;
use crate::text::{duration, grouped, percent, times};

/// The summary mentions a delay only if it takes more than this share of the run.
const MIN_SHARE: f64 = 0.01;

/// Describes all delays of a run in one sentence. Returns `None` if no delay was recorded.
pub fn words(run: &Run) -> Option<String> {
    let lasted_ms = run.lasted_ms();
    let recorded = |word: &str| run.events.get(word).filter(|events| events.count > 0);
    let pauses = recorded("gc").map(|EventReport { count, took_ms, longest_ms, .. }| {
        let share = percent(100.0 * took_ms / lasted_ms);
        let (took, longest) = (duration(*took_ms), duration(*longest_ms));
        format!(
            "garbage collections stopped all threads {}, for {took} in all ({share} of the time), {longest} at most",
            times(*count)
        )
    });
    let locks = recorded("monitor").map(|EventReport { count, took_ms, longest_ms, .. }| {
        let (took, longest) = (duration(*took_ms), duration(*longest_ms));
        format!("threads waited for a lock {}, for {took} in all, {longest} at most", times(*count))
    });
    let all = run.safepoints.filter(|all| all.count > 0);
    let all = all.map(|SafepointReport { count, stopped_ms, reaching_ms }| {
        let (stopped, reaching) = (duration(stopped_ms), duration(reaching_ms));
        format!(
            "safepoints stopped all threads {}, for {stopped} in all, after {reaching} to reach them",
            times(count)
        )
    });
    let parts = [pauses, all, locks, longest_wait(&run.waiting), classes(run), compilers(run)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Describes the time that threads spent on loading, linking and initialising classes. Returns
/// `None` if it is a small part of the run.
fn classes(run: &Run) -> Option<String> {
    let ClassReport { loaded, loading_ms, linking_ms, initializing_ms, .. } = run.classes?;
    let all = loading_ms + linking_ms + initializing_ms;
    let [loading, linking, initializing] = [loading_ms, linking_ms, initializing_ms].map(duration);
    (all > MIN_SHARE * run.lasted_ms()).then(|| {
        format!(
            "threads spent {} on {} new classes: {loading} loading, {linking} linking, {initializing} initialising",
            duration(all),
            grouped(loaded)
        )
    })
}

/// Describes the time that the JIT compilers took. Returns `None` if it is a small part of the run.
fn compilers(run: &Run) -> Option<String> {
    let CompilerReport { compiled, took_ms, .. } = run.compilers?;
    (took_ms > MIN_SHARE * run.lasted_ms()).then(|| {
        let (took, times) = (duration(took_ms), grouped(compiled));
        format!("JIT compiler threads spent {took} of wall-clock time on {times} compilations")
    })
}

/// Describes the thread that has waited longest for a lock when the recording ends.
fn longest_wait(waiting: &[WaitingReport]) -> Option<String> {
    let first = waiting.iter().max_by(|one, other| one.waited_ms.total_cmp(&other.waited_ms))?;
    let WaitingReport { thread, class, owner, waited_ms } = first;
    let of = if class.is_empty() { String::new() } else { format!(" of class {class}") };
    let waits = format!("{thread} has been waiting for a lock{of} for {}", duration(*waited_ms));
    let owner = owner.as_ref().map_or_else(String::new, |owner| format!(", held by {owner}"));
    let others = match waiting.len() - 1 {
        0 => String::new(),
        1 => " (and one more thread waits for a lock)".to_owned(),
        others => format!(" (and {others} more threads wait for a lock)"),
    };
    Some(format!("{waits}{owner}{others}"))
}

/// True if the delays are long enough for the summary. The front-end's panel shows delays of any
/// length.
pub fn are_long(run: &Run) -> bool {
    let long = |took_ms: f64| took_ms > MIN_SHARE * run.lasted_ms();
    let mut kinds = ["gc", "monitor"].iter();
    run.waiting.iter().any(|waiting| long(waiting.waited_ms))
        || kinds.any(|word| run.events.get(*word).is_some_and(|events| long(events.took_ms)))
}
