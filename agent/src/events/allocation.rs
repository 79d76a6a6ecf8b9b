//! Allocations: one object in so many bytes, at random, and what it stands for.
//!
//! Each thread draws anew after each, so an object of `size` bytes is met with the probability 1 -
//! exp(-size / mean): by that it is weighed, with the mean that held when the thread drew. All
//! weights together are what was allocated, near enough.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use jni_sys::{jclass, jlong, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use parking_lot::Mutex;
use vouch_recording::kinds;

use super::calling_thread;
use super::event_type::{Pace, Row};
use crate::clock;
use crate::facade::{Capability, Event, EventSubscription, Jvmti, Need};
use crate::fault::guard;

pub static ALLOCATION: Row = Row::of(
    &kinds::ALLOCATION,
    &[EventSubscription {
        event: Event::SampledObjectAlloc,
        capabilities: &[Capability::GenerateSampledObjectAllocEvents],
        install: |table| table.sampled_object_alloc = Some(sampled),
        need: Need::Itself,
    }],
);

/// So many bytes lie between two objects that are told, at first,
const FIRST: u32 = 512 << 10;
/// and at most.
const LAST: u32 = 1 << 30;

static MEAN: AtomicU32 = AtomicU32::new(FIRST);
/// Held by who changes it, here and in the JVM.
static CHANGE: Mutex<()> = Mutex::new(());

thread_local! {
    /// What was so when the thread drew; 0: nobody has seen it draw, and it was as at first.
    static DRAWN: Cell<u32> = const { Cell::new(0) };
    /// What objects stood for that found no room: the next one stands for that, too.
    static OWED: Cell<u64> = const { Cell::new(0) };
}

/// A recording is about to begin.
pub fn begin(jvmti: Jvmti) {
    let _change = CHANGE.lock();
    MEAN.store(FIRST, Relaxed);
    // Where the JVM refuses it tells of an object as often as it does by itself, which is the same.
    let _ = jvmti.set_heap_sampling_interval(FIRST);
}

/// The calling thread begins, and has drawn. (Most never allocate what is told: they need not have
/// the thread-local for it.)
pub fn born() {
    let mean = MEAN.load(Relaxed);
    if mean != FIRST {
        DRAWN.set(mean);
    }
}

/// From here on an object is to be told so often.
fn change(pace: Pace) {
    // One who changes it at the same moment has done so.
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
    _: *mut jni_sys::JNIEnv,
    _: jthread,
    _: jobject,
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
        // None is left out, or the weights would not add up: they get rarer instead.
        let pace = ALLOCATION.counts.pace(now, kinds::ALLOCATION.max_per_second);
        if pace != Pace::Same {
            change(pace);
        }
        let stands_for = stands_for(size, drawn).saturating_add(OWED.take());
        let values = [0, size, stands_for];
        if !ALLOCATION.happened_here(now, now, values, &calling_thread::class_name(class)) {
            OWED.set(stands_for);
        }
    });
}

/// What an object of this size stands for, where one lies so far from the next on average.
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
