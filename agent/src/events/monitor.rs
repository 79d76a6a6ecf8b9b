//! Monitors: threads that wait for one that another has, and those that wait to be notified.
//!
//! A program may do either a million times a second: what was over at once is counted, and nothing else is asked about it.

use jni_sys::{jboolean, jlong, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use vouch_recording::kinds;
use vouch_sample::VALUES;

use super::place::{self, Began};
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

const fn told(event: Event, install: fn(&mut Callbacks)) -> Told {
    Told { event, capability: Some(Capability::GenerateMonitorEvents), install, need: Need::Itself }
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
    let Some(Began { at, note }) = (unsafe { place::end(env, thread) }) else { return };
    let ended = clock::monotonic();
    if row.counted(at, ended) {
        // SAFETY: as above.
        let class = unsafe { place::class_of(env, object) };
        row.happened_here(at, ended, values(note), &class);
    }
}

unsafe extern "C" fn enter(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, _: jobject) {
    // SAFETY: the JVM passes the calling thread's JNIEnv, and references that are valid there.
    guard((), || unsafe { place::begin(env, thread, 0) });
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
    guard((), || unsafe { place::begin(env, thread, u64::try_from(timeout_ms).unwrap_or(0)) });
}

unsafe extern "C" fn waited(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    timed_out: jboolean,
) {
    let values = |timeout_ms: u64| [0, timeout_ms.saturating_mul(1_000_000), u64::from(timed_out != 0), 0];
    // SAFETY: as above.
    guard((), || unsafe { over(&WAIT, env, thread, object, values) });
}
