//! How long a collection held up a thread that would have run: a marker in the thread's own track,
//! as long as the pause.
//!
//! Of two samples around a pause the thread's own clock says how long it did not run in between.
//! Where that is the pause and hardly more, it ran until it was stopped, and on when it was let go.
//! Of whoever waited for something else, too, or for a processor, or ran in native code, or had two
//! pauses between two samples it is not known. It must never be said of a thread that slept all the
//! time.

use vouch_recording::kinds::{COLLECTION, HELD_UP};
use vouch_recording::{Id, Mark, MarkKindId, Recording, Thread};

/// What is shorter nobody feels.
const LEAST_NS: u64 = 10_000_000;
/// What else it may not have run for: until it stood, and until it had a processor again,
const MORE_NS: u64 = 2_000_000;
/// and such a part of the pause, by which it may as well have run: a thread in native code does
/// until it wants back.
const PART: u64 = 10;
/// So many intervals before the pause, and after it, it was seen to run.
const NEAR: u64 = 3;

/// The pauses that held this thread up, whose samples are so far apart.
pub fn marks(recording: &Recording, thread: &Thread, sampled_ns: u64) -> Vec<Mark> {
    // A row that threads share has no clock, and what never ran Java is not stopped.
    if thread.tid() == 0 || thread.tally().weight.java() == 0 {
        return Vec::new();
    }
    let kind_of =
        |key| recording.mark_kinds().rows().iter().position(|row| row.key == key).map(MarkKindId::from_row);
    let (Some(held_up), Some(collection)) = (kind_of(HELD_UP.key), kind_of(COLLECTION.mark.key)) else {
        return Vec::new();
    };
    let is_long =
        |mark: &&Mark| mark.kind == collection && mark.ended_ns.saturating_sub(mark.began_ns) >= LEAST_NS;
    let mut pauses = recording.marks().iter().filter(is_long).peekable();
    if pauses.peek().is_none() {
        return Vec::new();
    }
    let mut samples: Vec<(u64, u64)> =
        thread.samples().iter().map(|sample| (sample.time_ns, sample.cpu_ns)).collect();
    samples.sort_unstable();
    let near_ns = sampled_ns.saturating_mul(NEAR).saturating_add(MORE_NS);
    let held = |pause: &&Mark| {
        let after = samples.partition_point(|(time, _)| *time < pause.ended_ns);
        let around = after.checked_sub(1).and_then(|before| samples.get(before).zip(samples.get(after)));
        around.is_some_and(|((before, ran_before), (after, ran_after))| {
            let rested = (after - before).saturating_sub(ran_after.saturating_sub(*ran_before));
            let pause_ns = pause.ended_ns - pause.began_ns;
            let part = pause_ns / PART;
            *before <= pause.began_ns
                && before.saturating_add(near_ns) >= pause.began_ns
                && *after <= pause.ended_ns.saturating_add(near_ns)
                && (pause_ns - part..=pause_ns + part + MORE_NS).contains(&rested)
        })
    };
    pauses.filter(held).map(|pause| Mark { kind: held_up, ..*pause }).collect()
}
