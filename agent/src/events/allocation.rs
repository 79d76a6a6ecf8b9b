//! Events of sampled allocations: one object in a mean number of bytes, at random, with a weight.
//!
//! After each sample, a thread draws the distance to the next one. So an object of `size` bytes is
//! sampled with the probability 1 - exp(-size / mean). The mean is the one that was valid when the
//! thread drew. The weight is the size divided by the probability. The sum of all weights estimates
//! the allocated bytes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use jni_sys::{jclass, jlong, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use parking_lot::Mutex;
use vouch_recording::kinds;
use vouch_sampling::clock;
use vouch_signal::event::Publication;

use super::calling_thread;
use super::collection;
use super::event_type::{Pace, Row};
use super::live_objects;
use crate::facade::{Capability, Event, EventSubscription, Jvmti, RequiredFor};
use crate::fault::guard;

pub static ALLOCATION: Row = Row::new(
    &kinds::ALLOCATION,
    &[
        EventSubscription {
            event: Event::SampledObjectAlloc,
            capabilities: &[Capability::GenerateSampledObjectAllocEvents],
            install: |table| table.sampled_object_alloc = Some(sampled),
            required_for: RequiredFor::Itself,
        },
        // The number of collections shows which sampled objects have survived one.
        collection::FINISH,
    ],
);

/// The initial and lowest mean number of bytes between two samples.
const FIRST: u32 = 512 << 10;
/// The highest mean number of bytes between two samples.
const LAST: u32 = 1 << 30;

static MEAN: AtomicU32 = AtomicU32::new(FIRST);
/// Locks changes of the mean, here and in the JVM.
static CHANGE: Mutex<()> = Mutex::new(());

thread_local! {
    /// The mean when the thread drew. A 0 is the initial mean: no drawing was seen.
    static DRAWN: Cell<u32> = const { Cell::new(0) };
    /// The weight in bytes of samples that were lost because the buffer was full. The next sample
    /// adds it.
    static OWED: Cell<u64> = const { Cell::new(0) };
}

/// Resets the mean for a new recording.
pub fn begin(jvmti: Jvmti) {
    let _change = CHANGE.lock();
    live_objects::begin();
    MEAN.store(FIRST, Relaxed);
    // If the JVM refuses, it uses its default, which is the same mean.
    let _ = jvmti.set_heap_sampling_interval(FIRST);
}

/// Stores the mean with which a new thread has drawn. Most threads have no sample. So the initial
/// mean is not stored, to avoid creating the thread-local.
pub fn on_thread_start() {
    let mean = MEAN.load(Relaxed);
    if mean != FIRST {
        DRAWN.set(mean);
    }
}

/// Changes the mean.
fn change(pace: Pace) {
    // Another thread that holds the lock is changing it now.
    let Some(_change) = CHANGE.try_lock() else { return };
    let mean = MEAN.load(Relaxed);
    let next = match pace {
        Pace::Fewer => mean * 2,
        Pace::Same => mean,
        Pace::More(times) => mean / u32::try_from(times).unwrap_or(u32::MAX),
    };
    let next = next.clamp(FIRST, LAST);
    if next != mean
        && let Some(jvmti) = Jvmti::current()
        && jvmti.set_heap_sampling_interval(next).is_ok()
    {
        MEAN.store(next, Relaxed);
    }
}

unsafe extern "C" fn sampled(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    _: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    guard((), || {
        let drawn = match DRAWN.replace(MEAN.load(Relaxed)) {
            0 => FIRST,
            drawn => drawn,
        };
        let now = clock::monotonic();
        let size = u64::try_from(size).unwrap_or(0);
        ALLOCATION.counts.add(0);
        // No sample is left out, or the weights would not add up. Instead the mean grows.
        let pace = ALLOCATION.counts.pace(now, kinds::ALLOCATION.max_per_second);
        if pace != Pace::Same {
            change(pace);
        }
        let stands_for = stands_for(size, drawn).saturating_add(OWED.take());
        // SAFETY: the JVM passes the calling thread's JNIEnv, and a reference that is valid there.
        let weak = unsafe { live_objects::reference(env, object) };
        let values = [0, size, stands_for, weak.0, live_objects::collections()];
        let publication = ALLOCATION.emit_here(now, now, values, &calling_thread::class_name(class));
        // A recording that has ended leaves no weight to the next one.
        if publication == Publication::NoSpace {
            OWED.set(stands_for);
        }
        if publication != Publication::Published {
            // SAFETY: as above. The reference has just been made, and was passed to no other code.
            unsafe { live_objects::delete(env, weak) };
        }
    });
}

/// Returns the weight in bytes of an object of this size, for this mean.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what was allocated is not known to the byte"
)]
fn stands_for(size: u64, mean: u32) -> u64 {
    let share = -(-(size as f64) / f64::from(mean)).exp_m1();
    if share > 0.0 { (size as f64 / share).round() as u64 } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_objects_stand_for_the_mean_and_big_ones_for_themselves() {
        assert_eq!(stands_for(0, FIRST), 0);
        assert!(stands_for(16, FIRST).abs_diff(u64::from(FIRST)) < 100);
        assert_eq!(stands_for(u64::from(FIRST), FIRST), 829_411);
        assert_eq!(stands_for(64 << 20, FIRST), 64 << 20);
    }
}
