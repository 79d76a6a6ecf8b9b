//! Monitors: threads that wait for one that another has, and those that wait to be notified.
//!
//! A virtual thread may begin to wait on one carrier and end on another: it is left out. A program may do either a million times a second: what was over at once is counted, and nothing else is asked about it.

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

unsafe extern "C" fn enter(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, _: jobject) {
    guard((), || {
        // SAFETY: the JVM passes the calling thread's JNIEnv, and its own reference.
        if !unsafe { place::is_virtual(env, thread) } {
            place::begin(0);
        }
    });
}

unsafe extern "C" fn entered(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, object: jobject) {
    guard((), || {
        // SAFETY: as above.
        if unsafe { place::is_virtual(env, thread) } {
            return;
        }
        let Some(Began { at, .. }) = place::end() else { return };
        let ended = clock::monotonic();
        if MONITOR.counted(at, ended) {
            // SAFETY: the JVM passes the calling thread's JNIEnv, and a reference that is valid there.
            let class = unsafe { place::class_of(env, object) };
            MONITOR.happened_here(at, ended, [0; VALUES], &class);
        }
    });
}

unsafe extern "C" fn wait(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    _: jobject,
    timeout_ms: jlong,
) {
    guard((), || {
        // SAFETY: as above.
        if !unsafe { place::is_virtual(env, thread) } {
            place::begin(u64::try_from(timeout_ms).unwrap_or(0));
        }
    });
}

unsafe extern "C" fn waited(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    timed_out: jboolean,
) {
    guard((), || {
        // SAFETY: as above.
        if unsafe { place::is_virtual(env, thread) } {
            return;
        }
        let Some(Began { at, note }) = place::end() else { return };
        let ended = clock::monotonic();
        if WAIT.counted(at, ended) {
            // SAFETY: as above.
            let class = unsafe { place::class_of(env, object) };
            let values = [0, note.saturating_mul(1_000_000), u64::from(timed_out != 0), 0];
            WAIT.happened_here(at, ended, values, &class);
        }
    });
}
