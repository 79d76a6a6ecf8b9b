//! Collections: from when to when the program stood still for one, and what for.
//!
//! The JVM tells of them in the midst of them: nothing may be asked of it then.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jvmti_sys::jvmtiEnv;
use once_cell::sync::OnceCell;
use vouch_recording::kinds;
use vouch_sample::VALUES;

use super::row::Row;
use crate::clock;
use crate::facade::{Capability, Event, Need, Told};
use crate::fault::guard;
use crate::hotspot::perf_data::Reason;

pub static COLLECTION: Row = Row::of(
    &kinds::COLLECTION,
    &[
        Told {
            event: Event::GarbageCollectionStart,
            capability: Some(Capability::GenerateGarbageCollectionEvents),
            install: |table| table.known.GarbageCollectionStart = Some(start),
            need: Need::Itself,
        },
        Told {
            event: Event::GarbageCollectionFinish,
            capability: Some(Capability::GenerateGarbageCollectionEvents),
            install: |table| table.known.GarbageCollectionFinish = Some(finish),
            need: Need::Itself,
        },
    ],
);

/// When the present one began: there is one at a time, since all threads stand still.
static BEGAN: AtomicU64 = AtomicU64::new(0);
static REASON: OnceCell<Option<Reason>> = OnceCell::new();

/// Where this JVM says what a collection is for.
pub fn reason_from(reason: Option<Reason>) {
    REASON.get_or_init(|| reason);
}

unsafe extern "C" fn start(_: *mut jvmtiEnv) {
    BEGAN.store(clock::monotonic(), Relaxed);
}

unsafe extern "C" fn finish(_: *mut jvmtiEnv) {
    guard((), || {
        let (began, ended) = (BEGAN.swap(0, Relaxed), clock::monotonic());
        if began != 0 && COLLECTION.counted(began, ended) {
            let reason = REASON.get().and_then(Option::as_ref).and_then(Reason::present);
            COLLECTION.happened(began, ended, [0; VALUES], reason.as_deref().unwrap_or(""));
        }
    });
}
