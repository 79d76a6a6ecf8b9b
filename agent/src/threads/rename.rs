//! A thread that renames itself: `Thread.setNativeName`, the one native method that every rename
//! calls.
//!
//! The JVM tells of each native method that it binds, early enough; this one is sent through here.
//! Where the agent came too late for that, or the JVM does not call it for every rename, [`poll`]
//! compares names now and then.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::{jobject, jstring};
use once_cell::sync::OnceCell;
use vouch_hotspot::SetNativeThreadName;

use super::registry;
use crate::clock;
use crate::facade::Jvmti;
use crate::java;

/// The JVM's own function. Set once the method has been bound to ours.
static ORIGINAL: OnceCell<SetNativeThreadName> = OnceCell::new();

/// If the native method that is being bound is the one, says what to bind in its place.
pub fn on_bind(bound: *mut c_void, set_name: SetNativeThreadName) -> Option<*mut c_void> {
    if !std::ptr::eq(bound, set_name as *const c_void) {
        return None;
    }
    // A second binding of the same method finds the same function.
    let _ = ORIGINAL.set(set_name);
    Some(set_native_name as *const () as *mut c_void)
}

/// True if every rename is told as it happens. From JDK 21 on only that is told which a thread
/// gives itself.
pub fn told(jvmti: Jvmti) -> bool {
    ORIGINAL.get().is_some() && jvmti.jdk().is_some_and(|jdk| jdk < 21)
}

/// `Thread.setNativeName(String)`.
unsafe extern "C" fn set_native_name(env: *mut jni_sys::JNIEnv, thread: jobject, name: jstring) {
    if let Some(original) = ORIGINAL.get() {
        // SAFETY: the JVM's own arguments, passed on.
        unsafe { original(env, thread, name) };
    }
    // A fault of ours must not reach the program: the name is lost.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the JVM calls a native method with its thread's JNIEnv and valid references.
        let (mut env, thread, name) = unsafe {
            let Ok(env) = JNIEnv::from_raw(env) else { return };
            (env, JObject::from_raw(thread), JObject::from_raw(name))
        };
        let name = java::text(&mut env, name);
        tell(&mut env, &thread, |_| name);
    }));
}

/// Compares the names of all threads with those that are known.
pub fn poll(jvmti: Jvmti, env: &mut JNIEnv<'_>) {
    super::late::each_java_thread(jvmti, env, |env, thread| {
        tell(env, thread, |thread| jvmti.thread_name(thread.as_raw()).ok());
    });
}

/// Tells the registry what a thread is called now. Who it is, is asked before the name, and whether
/// it still lives after that: the next thread may have its place in the JVM, and must not get its
/// name.
fn tell(env: &mut JNIEnv<'_>, thread: &JObject<'_>, name: impl FnOnce(&JObject<'_>) -> Option<String>) {
    let java_thread = java::java_thread(env, thread);
    let Some(who) = registry().java_serial(java_thread) else { return };
    let now = clock::monotonic();
    if let Some(name) = name(thread).filter(|_| java::java_thread(env, thread) == java_thread) {
        registry().renamed(who, &name, now);
    }
}
