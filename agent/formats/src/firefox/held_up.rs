//! Makes markers for threads that a garbage collection held up. A marker is in the thread's track,
//! and is as long as the pause.
//!
//! The thread's CPU clock at two samples around a pause gives the time in which it did not run. If
//! that is the pause and hardly more, the thread ran until it was stopped, and ran on afterwards.
//! There is no marker if the thread also waited for something else or for a processor, ran native
//! code, or had two pauses between two samples. A thread that slept must never get a marker.

use vouch_recording::kinds::{COLLECTION, HELD_UP};
use vouch_recording::{Id, Marker, MarkerKindId, Recording, Thread};

/// A shorter pause of the garbage collector gets no markers.
const MIN_PAUSE_NS: u64 = 10_000_000;
/// The time without running may exceed the pause by this much. It takes time to stop a thread, and
/// to give it a processor again.
const MAX_DELAY_NS: u64 = 2_000_000;
/// The time without running may also differ from the pause by the pause divided by this number. A
/// thread in native code runs on until it returns to Java.
const MAX_DIFFERENCE_DIVISOR: u64 = 10;
/// The samples before and after a pause may be at most this many sampling intervals away from it.
const MAX_DISTANCE_INTERVALS: u64 = 3;

/// Returns the markers for the pauses that held a thread up. `sampled_ns` is the usual time between
/// two of its samples.
pub fn markers(recording: &Recording, thread: &Thread, sampled_ns: u64) -> Vec<Marker> {
    // Several threads that share a row have no common CPU clock. A thread without Java is not
    // stopped.
    if thread.tid() == 0 || thread.tally().weight.java() == 0 {
        return Vec::new();
    }
    let kind_of = |key| {
        recording.marker_kinds().rows().iter().position(|row| row.key == key).map(MarkerKindId::from_row)
    };
    let (Some(held_up), Some(collection)) = (kind_of(HELD_UP.key), kind_of(COLLECTION.marker.key)) else {
        return Vec::new();
    };
    let is_long = |marker: &&Marker| {
        marker.kind == collection && marker.ended_ns.saturating_sub(marker.began_ns) >= MIN_PAUSE_NS
    };
    let mut pauses = recording.markers().iter().filter(is_long).peekable();
    if pauses.peek().is_none() {
        return Vec::new();
    }
    let mut samples: Vec<(u64, u64)> =
        thread.samples().iter().map(|sample| (sample.time_ns, sample.cpu_ns)).collect();
    samples.sort_unstable();
    let near_ns = sampled_ns.saturating_mul(MAX_DISTANCE_INTERVALS).saturating_add(MAX_DELAY_NS);
    let held = |pause: &&Marker| {
        let after = samples.partition_point(|(time, _)| *time < pause.ended_ns);
        let around = after.checked_sub(1).and_then(|before| samples.get(before).zip(samples.get(after)));
        around.is_some_and(|((before, ran_before), (after, ran_after))| {
            let rested = (after - before).saturating_sub(ran_after.saturating_sub(*ran_before));
            let pause_ns = pause.ended_ns - pause.began_ns;
            let part = pause_ns / MAX_DIFFERENCE_DIVISOR;
            *before <= pause.began_ns
                && before.saturating_add(near_ns) >= pause.began_ns
                && *after <= pause.ended_ns.saturating_add(near_ns)
                && (pause_ns - part..=pause_ns + part + MAX_DELAY_NS).contains(&rested)
        })
    };
    pauses.filter(held).map(|pause| Marker { kind: held_up, ..*pause }).collect()
}
