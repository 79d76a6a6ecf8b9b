//! Monitors: threads that wait for one that another has, and those that wait to be notified.
//!
//! A program may do either a million times a second: what was over at once is counted, and nothing else is asked about it.

use jni_sys::{jboolean, jlong, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use vouch_recording::{Category, Figure, MarkKind, kinds};
use vouch_sample::{VALUES, values};
use vouch_signal::slots::Wait;

use super::place;
use super::row::Row;
use crate::clock;
use crate::facade::{Callbacks, Capability, Event, Need, Told};
use crate::fault::guard;

pub static MONITOR: Row = Row::of(
    &kinds::MONITOR,
    &[
        told(Event::MonitorContendedEnter, |table| table.known.MonitorContendedEnter = Some(enter)),
        told(Event::MonitorContendedEntered, |table| table.known.MonitorContendedEntered = Some(entered)),
    ],
);

pub static WAIT: Row = Row::of(
    &kinds::WAIT,
    &[
        told(Event::MonitorWait, |table| table.known.MonitorWait = Some(wait)),
        told(Event::MonitorWaited, |table| table.known.MonitorWaited = Some(waited)),
    ],
);

/// What a thread that has waited for a lock until the recording's end is told to do.
pub static STILL_ENTERS: Row = Row::own(&MarkKind {
    key: "monitor_still_enters",
    label: "Still waits for a lock",
    description: "The thread wanted a monitor (synchronized) that another thread has, and had not got it when this was written.",
    category: Category::Other,
    figures: &[Figure::text("class", "Lock of class")],
});

/// The same of one that has not been notified.
pub static STILL_WAITS: Row = Row::own(&MarkKind {
    key: "monitor_still_waits",
    label: "Still in Object.wait",
    description: "The thread waited to be notified, and had not been when this was written.",
    category: Category::Other,
    figures: &[Figure::text("class", "Of class")],
});

const fn told(event: Event, install: fn(&mut Callbacks)) -> Told {
    // The others are for what is not over at the end: without them it is not told what for, nor who has it.
    const ALL: &[Capability] = &[
        Capability::GenerateMonitorEvents,
        Capability::GetCurrentContendedMonitor,
        Capability::GetMonitorInfo,
    ];
    Told { event, capabilities: ALL, install, need: Need::Itself }
}

/// What a thread waited for is over.
///
/// # Safety
/// `env` must be the calling thread's, and the other two references that are valid there.
unsafe fn over(
    row: &'static Row,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    values: impl FnOnce(u64) -> [u64; VALUES],
) {
    // SAFETY: by the caller's promise.
    let Some(Wait { since, note, .. }) = (unsafe { place::end(env, thread) }) else { return };
    let ended = clock::monotonic();
    if row.counted(since, ended) {
        // SAFETY: as above.
        let class = unsafe { place::class_of(env, object) };
        row.happened_here(since, ended, values(note), &class);
    }
}

unsafe extern "C" fn enter(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, _: jobject) {
    // SAFETY: the JVM passes the calling thread's JNIEnv, and references that are valid there.
    guard((), || unsafe { place::begin(env, thread, &STILL_ENTERS, 0) });
}

unsafe extern "C" fn entered(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, object: jobject) {
    // SAFETY: as above.
    guard((), || unsafe { over(&MONITOR, env, thread, object, |_| [0; VALUES]) });
}

unsafe extern "C" fn wait(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    _: jobject,
    timeout_ms: jlong,
) {
    // SAFETY: as above.
    let timeout_ms = u64::try_from(timeout_ms).unwrap_or(0);
    // SAFETY: as above.
    guard((), || unsafe { place::begin(env, thread, &STILL_WAITS, timeout_ms) });
}

unsafe extern "C" fn waited(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    timed_out: jboolean,
) {
    let values =
        |timeout_ms: u64| values([0, timeout_ms.saturating_mul(1_000_000), u64::from(timed_out != 0)]);
    // SAFETY: as above.
    guard((), || unsafe { over(&WAIT, env, thread, object, values) });
}
