//! Renames of threads: intercepts `Thread.setNativeName`, the native method that every rename
//! calls.
//!
//! The JVM reports each native method that it binds, early enough for the agent to redirect this
//! one. If the agent was loaded too late, or the JVM does not call the method for every rename,
//! [`poll`] compares names periodically.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::{jobject, jstring};
use once_cell::sync::OnceCell;
use vouch_hotspot::SetNativeThreadName;
use vouch_sampling::clock;
use vouch_sampling::threads::registry;

use crate::facade::Jvmti;
use crate::java;

/// The JVM's own function. It is set once the method has been bound to the agent's function.
static ORIGINAL: OnceCell<SetNativeThreadName> = OnceCell::new();

/// Returns the replacement function if the native method that is being bound is `setNativeName`.
pub fn on_bind(bound: *mut c_void, set_name: SetNativeThreadName) -> Option<*mut c_void> {
    if !std::ptr::eq(bound, set_name as *const c_void) {
        return None;
    }
    // A second binding of the same method finds the same function.
    let _ = ORIGINAL.set(set_name);
    Some(set_native_name as *const () as *mut c_void)
}

/// Returns true if every rename is reported as it happens. From JDK 21 on, a rename is reported
/// only if the thread renames itself.
pub fn reports_all(jvmti: Jvmti) -> bool {
    ORIGINAL.get().is_some() && jvmti.jdk().is_some_and(|jdk| jdk < 21)
}

/// Implements `Thread.setNativeName(String)`.
unsafe extern "C" fn set_native_name(env: *mut jni_sys::JNIEnv, thread: jobject, name: jstring) {
    if let Some(original) = ORIGINAL.get() {
        // SAFETY: the JVM's own arguments, passed on.
        unsafe { original(env, thread, name) };
    }
    // An error in the agent must not reach the program. The name is then lost.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the JVM calls a native method with its thread's JNIEnv and valid references.
        let (mut env, thread, name) = unsafe {
            let Ok(env) = JNIEnv::from_raw(env) else { return };
            (env, JObject::from_raw(thread), JObject::from_raw(name))
        };
        let name = java::text(&mut env, name);
        report(&mut env, &thread, |_| name);
    }));
}

/// Compares the names of all threads with their recorded names.
pub fn poll(jvmti: Jvmti, env: &mut JNIEnv<'_>) {
    super::late::each_java_thread(jvmti, env, |env, thread| {
        report(env, thread, |thread| jvmti.thread_name(thread.as_raw()).ok());
    });
}

/// Reports a thread's present name to the registry. It reads the thread's identity before the name,
/// and checks after it that the thread is still alive. Another thread may reuse the JavaThread's
/// address, and must not get this thread's name.
fn report(env: &mut JNIEnv<'_>, thread: &JObject<'_>, name: impl FnOnce(&JObject<'_>) -> Option<String>) {
    let java_thread = java::java_thread(env, thread);
    let Some(who) = registry().java_serial(java_thread) else { return };
    let now = clock::monotonic();
    if let Some(name) = name(thread).filter(|_| java::java_thread(env, thread) == java_thread) {
        registry().renamed(who, &name, now);
    }
}
