//! Events of throwables that are created. The native method that fills in a throwable's stack trace
//! is bound to a function here when the JVM starts.
//!
//! JVMTI's Exception event would report where each is thrown and caught. But the capability for it
//! alone, with the event off, makes compiled code throw fifteen to fifty times slower until the JVM
//! ends, and no JVM takes the capability back.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use jni_sys::{jint, jobject};
use once_cell::sync::OnceCell;
use vouch_collect::events::Payload;
use vouch_hotspot::{FillInStackTrace, fill_in_stack_trace};
use vouch_recording::kinds;
use vouch_recording::measures::EXCEPTIONS;
use vouch_sample::pad_values;
use vouch_sampling::clock;
use vouch_sampling::own_thread;

use super::calling_thread;
use super::drawing::Drawing;
use super::event_type::Row;
use crate::fault::guard;

/// The JDK's own function.
static ORIGINAL: OnceCell<FillInStackTrace> = OnceCell::new();
/// True if the agent saw the start of the JVM. The JDK's function is also found when another method
/// of its library is bound, which an attached agent sees, too.
static WILL_BE_BOUND: AtomicBool = AtomicBool::new(false);

/// At first each exception is recorded. When there are too many in a second, some stand for others.
static COUNTED: Drawing = Drawing::new(&EXCEPTIONS, 1, kinds::EXCEPTION.max_per_second);

pub static EXCEPTION: Row = Row {
    payload: Payload::Constructors,
    drawing: Some(&COUNTED),
    can: is_bound,
    ..Row::new(&kinds::EXCEPTION, &[])
};

/// Returns the function to bind instead of `bound`, if that is `fillInStackTrace`.
pub fn on_bind(bound: *mut c_void) -> Option<*mut c_void> {
    // A second binding of the same method finds the same function.
    let _ = ORIGINAL.get_or_try_init(|| fill_in_stack_trace(bound).ok_or(()));
    let original = ORIGINAL.get()?;
    std::ptr::eq(bound, *original as *const c_void).then_some(fill_in as *const () as *mut c_void)
}

/// Notes that the agent was loaded at the JVM's start, so that the method will be bound to ours.
pub fn will_be_bound() {
    WILL_BE_BOUND.store(true, Relaxed);
}

/// True if exceptions will come here. The JVM binds the method at the first exception, so an agent
/// that is attached is too late.
fn is_bound() -> bool {
    WILL_BE_BOUND.load(Relaxed) && ORIGINAL.get().is_some()
}

/// Implements `Throwable.fillInStackTrace(int)`. It calls the JDK's function first.
unsafe extern "C" fn fill_in(env: *mut jni_sys::JNIEnv, throwable: jobject, unused: jint) -> jobject {
    let Some(original) = ORIGINAL.get() else { return throwable };
    // SAFETY: these are the arguments that the JVM passed.
    let filled = unsafe { original(env, throwable, unused) };
    if EXCEPTION.counts.wanted() {
        // SAFETY: the JVM calls a native method with its thread's JNIEnv and a valid reference.
        guard((), || unsafe { made(env, throwable) });
    }
    filled
}

/// # Safety
/// `env` must be the calling thread's, and `throwable` a reference that is valid there.
unsafe fn made(env: *mut jni_sys::JNIEnv, throwable: jobject) {
    if own_thread::is_calling() {
        return;
    }
    let now = clock::monotonic();
    if let Some(measured) = EXCEPTION.measured(now, now, 1) {
        // SAFETY: by the caller's promise.
        let class = unsafe { calling_thread::class_of(env, throwable) };
        EXCEPTION.emit_measured_here(now, now, pad_values([]), &class, measured);
    }
}
