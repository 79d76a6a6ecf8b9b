//! How long a collection held up a thread that would have run: a marker in the thread's own track, as long as the pause.
//!
//! Of two samples around a pause the thread's own clock says how long it did not run in between. Where that is the pause and hardly more, it
//! ran until it was stopped, and on when it was let go. Of whoever waited for something else, too, or for a processor, it is not known: it must
//! never be said of a thread that had nothing to do.

use vouch_recording::kinds::{COLLECTION, HELD_UP};
use vouch_recording::{Id, Mark, MarkKindId, Recording, Thread};

/// What is shorter nobody feels.
const LEAST_NS: u64 = 10_000_000;
/// What else it may not have run for: until it stood, and until it had a processor again,
const MORE_NS: u64 = 2_000_000;
/// and such a part of the pause, by which it may as well have run: a thread in native code does until it wants back.
const PART: u64 = 10;

/// The pauses that held this thread up.
pub fn marks(recording: &Recording, thread: &Thread) -> Vec<Mark> {
    let kinds = recording.mark_kinds();
    let Some(kind) = kinds.rows().iter().position(|row| row.key == HELD_UP.key) else { return Vec::new() };
    let is_long = |mark: &&Mark| {
        mark.ended_ns.saturating_sub(mark.began_ns) >= LEAST_NS
            && kinds.get(mark.kind).key == COLLECTION.mark.key
    };
    let pauses: Vec<&Mark> = recording.marks().iter().filter(is_long).collect();
    if pauses.is_empty() || thread.samples().is_empty() {
        return Vec::new();
    }
    let mut samples: Vec<(u64, u64)> =
        thread.samples().iter().map(|sample| (sample.time_ns, sample.cpu_ns)).collect();
    samples.sort_unstable();
    let held_up = |pause: &&&Mark| {
        let after = samples.partition_point(|(time, _)| *time < pause.ended_ns);
        let around = after.checked_sub(1).and_then(|before| samples.get(before).zip(samples.get(after)));
        around.is_some_and(|((before, ran_before), (after, ran_after))| {
            let rested = (after - before).saturating_sub(ran_after.saturating_sub(*ran_before));
            let pause_ns = pause.ended_ns - pause.began_ns;
            *before <= pause.began_ns
                && rested >= pause_ns - pause_ns / PART
                && rested <= pause_ns + pause_ns / PART + MORE_NS
        })
    };
    let kind = MarkKindId::from_row(kind);
    pauses.iter().filter(held_up).map(|pause| Mark { kind, ..**pause }).collect()
}
