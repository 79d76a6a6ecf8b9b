//! Threads that park: for a lock of java.util.concurrent that another thread has, or for whatever
//! else their Java code waits for there.
//!
//! The JVM tells no agent of it, but all of it goes through one native method of the JVM's own,
//! `Unsafe.park`, which is bound to a function here when the JVM starts. What goes on for all of
//! that is the JVM's function, whatever becomes of ours.

use std::ffi::c_void;

use jni::JNIEnv;
use jni_sys::{jboolean, jlong, jobject};
use once_cell::sync::OnceCell;
use vouch_hotspot::Park;
use vouch_recording::{Category, Figure, MarkKind, kinds};
use vouch_signal::slots::Wait;

use super::blocker::Blocker;
use super::calling_thread;
use super::event_type::{Brings, Row};
use crate::clock;
use crate::facade::Jvmti;
use crate::fault::guard;
use crate::java;

/// The JVM's own function. Set once the method has been bound to ours.
static ORIGINAL: OnceCell<Park> = OnceCell::new();

pub static PARK: Row = Row { brings: Brings::Texts, can: is_bound, ..Row::of(&kinds::PARK, &[]) };

/// What a thread that is parked at the recording's end is told to do.
pub static STILL_PARKS: Row = Row::own(&MarkKind {
    key: "still_parks",
    label: "Still parked",
    description: "The thread was parked (java.util.concurrent) when this was written.",
    category: Category::Other,
    figures: &[Figure::text("class", "Parked on")],
});

/// If the native method that is being bound is the one, says what to bind in its place; `park` is
/// the JVM's function for it.
pub fn on_bind(bound: *mut c_void, park: Park) -> Option<*mut c_void> {
    if !std::ptr::eq(bound, park as *const c_void) {
        return None;
    }
    // A second binding of the same method finds the same function.
    let _ = ORIGINAL.set(park);
    Some(self::park as *const () as *mut c_void)
}

/// Whether parks come here. An agent that is attached came too late for that.
pub fn is_bound() -> bool {
    ORIGINAL.get().is_some()
}

unsafe extern "C" fn park(env: *mut jni_sys::JNIEnv, object: jobject, until: jboolean, time: jlong) {
    // SAFETY: the JVM calls a native method with its thread's JNIEnv, which stays valid.
    let parked = guard(None, || unsafe { begin(env, until != 0, time) });
    if let Some(original) = ORIGINAL.get() {
        // SAFETY: the JVM's own arguments, passed on.
        unsafe { original(env, object, until, time) };
    }
    if let Some((mut env, blocker)) = parked {
        guard((), || end(&mut env, blocker.as_ref()));
    }
}

/// The calling thread is about to park: what for is read now, since whoever has it gives it away at
/// the end.
///
/// # Safety
/// `env` must be the calling thread's, for as long as what this gives is kept.
unsafe fn begin<'e>(
    env: *mut jni_sys::JNIEnv,
    until: bool,
    time: jlong,
) -> Option<(JNIEnv<'e>, Option<Blocker<'e>>)> {
    if !PARK.counts.wanted() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let mut env = unsafe { JNIEnv::from_raw(env) }.ok()?;
    let thread = Jvmti::current()?.current_thread().ok()?;
    // SAFETY: the JVM gave this reference a moment ago, to the calling thread.
    let thread = unsafe { java::object(&env, thread) };
    let blocker = Blocker::of(&thread, &mut env);
    // A virtual thread that comes here is pinned: it does not leave its carrier before it has been
    // woken.
    calling_thread::begin_here(STILL_PARKS.number(), || timeout(until, time));
    Some((env, blocker))
}

fn end(env: &mut JNIEnv<'_>, blocker: Option<&Blocker<'_>>) {
    let Some(Wait { since, note: timeout, .. }) = calling_thread::end_here() else { return };
    let ended = clock::monotonic();
    if PARK.counted(since, ended) {
        let told = blocker.zip(Jvmti::current()).map(|(blocker, jvmti)| blocker.describe(jvmti, env));
        let (class, owner) = told.unwrap_or_default();
        let owner = owner.unwrap_or_default();
        PARK.said_here(since, ended, [&class, &owner], [timeout]);
    }
}

/// In ns, 0 for none, from what `park` takes: ns from now, or ms of the wall clock.
fn timeout(until: bool, time: jlong) -> u64 {
    let time = u64::try_from(time).unwrap_or(0);
    if until { time.saturating_mul(1_000_000).saturating_sub(clock::epoch()) } else { time }
}
