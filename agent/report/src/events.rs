//! What held the program up meanwhile, in words: the time that it stood still, that its threads
//! waited for each other, and that its code took to be there.
//!
//! Time is added up over threads: what they waited for locks can be more than the run was long.

use crate::jvm::{ClassReport, CompilerReport, EventReport, SafepointReport, WaitingReport};
use crate::report::Run;
use crate::text::{duration, grouped, percent, times};

/// So large a part of the run is worth a line.
const PART: f64 = 0.01;

/// In words; `None` if nothing of it was seen.
pub fn words(run: &Run) -> Option<String> {
    let lasted_ms = run.lasted_ms();
    let of = |word: &str| run.events.get(word).filter(|events| events.count > 0);
    let pauses = of("gc").map(|EventReport { count, took_ms, longest_ms, .. }| {
        let share = percent(100.0 * took_ms / lasted_ms);
        let (took, longest) = (duration(*took_ms), duration(*longest_ms));
        format!(
            "garbage collections stopped all threads {}, for {took} in all ({share} of the time), {longest} at most",
            times(*count)
        )
    });
    let locks = of("monitor").map(|EventReport { count, took_ms, longest_ms, .. }| {
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
    let told = [pauses, all, locks, still(&run.waiting), classes(run), compilers(run)];
    let parts: Vec<String> = told.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What its classes took, if that is worth a line.
fn classes(run: &Run) -> Option<String> {
    let ClassReport { loaded, loading_ms, linking_ms, initializing_ms, .. } = run.classes?;
    let all = loading_ms + linking_ms + initializing_ms;
    let [loading, linking, initializing] = [loading_ms, linking_ms, initializing_ms].map(duration);
    (all > PART * run.lasted_ms()).then(|| {
        format!(
            "threads spent {} on {} new classes: {loading} loading, {linking} linking, {initializing} initialising",
            duration(all),
            grouped(loaded)
        )
    })
}

/// The same of its compilers.
fn compilers(run: &Run) -> Option<String> {
    let CompilerReport { compiled, took_ms, .. } = run.compilers?;
    (took_ms > PART * run.lasted_ms()).then(|| {
        let (took, times) = (duration(took_ms), grouped(compiled));
        format!("JIT compiler threads spent {took} of wall-clock time on {times} compilations")
    })
}

/// Who wants a lock still: the first that began to.
fn still(waiting: &[WaitingReport]) -> Option<String> {
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

/// True if a person should read of it who has not asked.
pub fn matter(run: &Run) -> bool {
    let long = |took_ms: f64| took_ms > PART * run.lasted_ms();
    let mut kinds = ["gc", "monitor"].iter();
    run.waiting.iter().any(|waiting| long(waiting.waited_ms))
        || kinds.any(|word| run.events.get(*word).is_some_and(|events| long(events.took_ms)))
}
