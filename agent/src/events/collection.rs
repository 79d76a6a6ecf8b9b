//! Events of garbage collections: the time for which the program was stopped, and the cause.
//!
//! The callbacks run during the collection, so they must not call the JVM.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jvmti_sys::jvmtiEnv;
use once_cell::sync::OnceCell;
use vouch_hotspot::perf_data::{G1_REMARK_OR_CLEANUP, GcCause, PerfData};
use vouch_recording::kinds;
use vouch_sampling::clock;

use super::event_type::Row;
use super::live_objects;
use crate::facade::{Capability, Event, EventSubscription, RequiredFor};
use crate::fault::guard;

pub static COLLECTION: Row = Row::new(
    &kinds::COLLECTION,
    &[
        EventSubscription {
            event: Event::GarbageCollectionStart,
            capabilities: &[Capability::GenerateGarbageCollectionEvents],
            install: |table| table.known.GarbageCollectionStart = Some(start),
            required_for: RequiredFor::Itself,
        },
        FINISH,
    ],
);

/// The event of a collection's end, which another type of events needs, too.
pub const FINISH: EventSubscription = EventSubscription {
    event: Event::GarbageCollectionFinish,
    capabilities: &[Capability::GenerateGarbageCollectionEvents],
    install: |table| table.known.GarbageCollectionFinish = Some(finish),
    required_for: RequiredFor::Itself,
};

/// The time in ns at which the present collection began. For nested collections, the event lasts
/// from the first beginning to the first end.
static BEGAN: AtomicU64 = AtomicU64::new(0);
static REASON: OnceCell<GcCause> = OnceCell::new();

/// Sets the performance counters. The cause of a collection is read from them.
pub fn set_perf_data(data: &PerfData, is_g1: bool) {
    let _ = GcCause::find(data, is_g1).map(|cause| REASON.set(cause));
}

/// Prepares for a new recording.
pub fn begin() {
    BEGAN.store(0, Relaxed);
}

unsafe extern "C" fn start(_: *mut jvmtiEnv) {
    let _ = BEGAN.compare_exchange(0, clock::monotonic(), Relaxed, Relaxed);
}

unsafe extern "C" fn finish(_: *mut jvmtiEnv) {
    guard((), || {
        let (began, ended) = (BEGAN.swap(0, Relaxed), clock::monotonic());
        let reason = REASON.get().and_then(GcCause::read);
        // These pauses do not collect the objects that were allocated last.
        if reason.as_deref() != Some(G1_REMARK_OR_CLEANUP) {
            live_objects::on_collection();
        }
        if began != 0 && COLLECTION.counts.wanted() && COLLECTION.counted(began, ended) {
            COLLECTION.emit_for_process(began, ended, [], reason.as_deref().unwrap_or(""));
        }
    });
}
