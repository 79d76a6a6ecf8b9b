//! Events of threads that park: for a lock of java.util.concurrent, or for another condition.
//!
//! JVMTI has no event for it. But all parks call the native method `Unsafe.park`, which is bound to
//! a function here when the JVM starts. That function always calls the JVM's own, whatever else
//! fails.

use std::ffi::c_void;

use jni::JNIEnv;
use jni_sys::{jboolean, jlong, jobject};
use once_cell::sync::OnceCell;
use vouch_collect::events::Payload;
use vouch_hotspot::Park;
use vouch_recording::kinds;
use vouch_recording::measures::BLOCKED;
use vouch_sample::Measured;
use vouch_sampling::clock;
use vouch_signal::slots::Wait;

use super::blocker::Blocker;
use super::calling_thread;
use super::drawing::Drawing;
use super::event_type::Row;
use super::monitor::{FIRST_STRIDE_NS, MAX_PER_SECOND};
use crate::facade::Jvmti;
use crate::fault::guard;
use crate::java;

/// The JVM's own function. It is set once the method is bound to the one here.
static ORIGINAL: OnceCell<Park> = OnceCell::new();

static BLOCKED_BY_LOCKS: Drawing = Drawing::new(&BLOCKED, FIRST_STRIDE_NS, MAX_PER_SECOND);

pub static PARK: Row = Row {
    payload: Payload::Texts,
    drawing: Some(&BLOCKED_BY_LOCKS),
    can: is_bound,
    ..Row::new(&kinds::PARK, &[])
};

/// The event of a thread that is still parked at the recording's end.
pub static STILL_PARKS: Row = Row::own(&kinds::STILL_PARKS);

/// Returns the function to bind instead of `bound`, if that is the JVM's function `park`.
pub fn on_bind(bound: *mut c_void, park: Park) -> Option<*mut c_void> {
    if !std::ptr::eq(bound, park as *const c_void) {
        return None;
    }
    // A second binding of the same method finds the same function.
    let _ = ORIGINAL.set(park);
    Some(self::park as *const () as *mut c_void)
}

/// Returns true if parks are recorded. An agent that was attached is too late to bind the method.
pub fn is_bound() -> bool {
    ORIGINAL.get().is_some()
}

unsafe extern "C" fn park(env: *mut jni_sys::JNIEnv, object: jobject, until: jboolean, time: jlong) {
    // SAFETY: the JVM calls a native method with its thread's JNIEnv, which stays valid.
    let parked = guard(None, || unsafe { begin(env, until != 0, time) });
    if let Some(original) = ORIGINAL.get() {
        // SAFETY: these are the arguments that the JVM passed.
        unsafe { original(env, object, until, time) };
    }
    if let Some((mut env, blocker)) = parked {
        guard((), || end(&mut env, blocker.as_ref()));
    }
}

/// Begins a park, and reads the object that the thread waits for. The owner is read now, because it
/// releases the lock before the park ends.
///
/// # Safety
/// `env` must be the calling thread's, for as long as the result is kept.
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
    // SAFETY: JVMTI has just returned this local reference to the calling thread.
    let thread = unsafe { java::object(&env, thread) };
    let blocker = Blocker::read(&thread, &mut env);
    // A virtual thread that calls this method is pinned: it stays on its carrier until it is woken.
    calling_thread::begin_here(STILL_PARKS.number(), || timeout(until, time));
    Some((env, blocker))
}

fn end(env: &mut JNIEnv<'_>, blocker: Option<&Blocker<'_>>) {
    let Some(Wait { since, note: timeout, .. }) = calling_thread::end_here() else { return };
    let ended = clock::monotonic();
    let measured = if blocker.is_some_and(Blocker::is_lock) {
        PARK.measured(since, ended, ended.saturating_sub(since))
    } else {
        PARK.counted(since, ended).then_some(Measured { is_shown: true, ..Measured::default() })
    };
    if let Some(measured) = measured {
        let told = blocker.zip(Jvmti::current()).map(|(blocker, jvmti)| blocker.describe(jvmti, env));
        let (class, owner) = told.unwrap_or_default();
        let owner = owner.unwrap_or_default();
        PARK.emit_texts_here(since, ended, [&class, &owner], [timeout], measured);
    }
}

/// Converts the arguments of `park` to a timeout in ns, or 0 for none. `time` is in ns from now, or
/// in ms of the wall clock if `until` is true.
fn timeout(until: bool, time: jlong) -> u64 {
    let time = u64::try_from(time).unwrap_or(0);
    if until { time.saturating_mul(1_000_000).saturating_sub(clock::epoch()) } else { time }
}
