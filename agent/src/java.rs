//! Reads the state of Java objects through JNI.
//!
//! Functions run in normal context, on attached threads. An exception that a call raises is
//! cleared: it must never reach the program.
//!
//! # Invariants
//!
//! **Invariant 10.** No Java code of the program's is run, and no SecurityManager of the program's.
//! Of Java objects the agent asks only these: field getters of the JDK's own; what is below those
//! that a SecurityManager guards; the system's class loader and its parents; the running thread;
//! two natives of `Runtime`; `Object.wait`; and where `Unsafe` says that fields are. (`java.rs`,
//! `resolve/class.rs`, `resolve/loaders.rs`, `events/heap.rs`, `events/blocker.rs`, `anchors.rs`,
//! `hotspot/continuations.rs`.) One field is written: in the library's own class, that the agent is
//! there. Held by: `java-tests/unchanged/SecurityManagerUnused.java`.

use jni::objects::{JObject, JObjectArray, JString, JValueOwned};
use jni::{JNIEnv, errors};
use jni_sys::{jboolean, jobject};

/// The slot of `IsVirtualThread` in JNI's function table, since JDK 21.
const IS_VIRTUAL_THREAD: usize = 234;

/// Returns the address of the JVM's JavaThread for a `java.lang.Thread`; 0 for a thread that has
/// ended.
pub fn java_thread(env: &mut JNIEnv<'_>, thread: &JObject<'_>) -> usize {
    let field = env.get_field(thread, "eetop", "J").and_then(JValueOwned::j);
    let value = cleared(env, field).unwrap_or(0);
    usize::try_from(value).unwrap_or(0)
}

/// Returns the Java id of the calling thread. `None` on a JDK that keeps it in another field.
pub fn own_id(env: &mut JNIEnv<'_>) -> Option<u64> {
    let own = ask_class(env, "java/lang/Thread", "currentThread", "Ljava/lang/Thread;")?;
    id(env, &own)
}

/// Returns the Java id of a thread. `None` on a JDK that keeps it in another field.
pub fn id(env: &mut JNIEnv<'_>, thread: &JObject<'_>) -> Option<u64> {
    let id = env.get_field(thread, "tid", "J").and_then(JValueOwned::j);
    u64::try_from(cleared(env, id)?).ok()
}

/// Returns the address of the calling thread's JavaThread.
pub fn own_java_thread(env: &mut JNIEnv<'_>) -> Option<usize> {
    let own = ask_class(env, "java/lang/Thread", "currentThread", "Ljava/lang/Thread;")?;
    Some(java_thread(env, &own)).filter(|own| *own != 0)
}

/// Returns true for a virtual thread.
///
/// # Safety
/// `env` must be the calling thread's, of JDK 21 or later. `thread` must be a reference that is
/// valid there.
pub unsafe fn is_virtual(env: *mut jni_sys::JNIEnv, thread: jobject) -> bool {
    type Function = unsafe extern "system" fn(*mut jni_sys::JNIEnv, jobject) -> jboolean;
    // SAFETY: the table of JDK 21 or later has this slot. Each slot is a function or null.
    let function = unsafe { (*env).cast::<Option<Function>>().add(IS_VIRTUAL_THREAD).read() };
    // SAFETY: the arguments are those of jni.h.
    function.is_some_and(|function| unsafe { function(env, thread) } != 0)
}

/// Returns the text of a Java string.
pub fn text(env: &mut JNIEnv<'_>, string: JObject<'_>) -> Option<String> {
    if string.is_null() {
        return None;
    }
    let string = JString::from(string);
    let text = env.get_string(&string).map(String::from);
    cleared(env, text)
}

/// Returns the texts of an array of strings. `None` means that one of them cannot be read.
pub fn texts(env: &mut JNIEnv<'_>, array: &JObjectArray<'_>) -> Option<Vec<String>> {
    let length = env.get_array_length(array);
    (0..cleared(env, length)?)
        .map(|at| {
            let element = env.get_object_array_element(array, at);
            let string = cleared(env, element)?;
            let raw = string.as_raw();
            let text = text(env, string);
            // SAFETY: JNI returned this local reference just now, and no other code uses it.
            let _ = env.delete_local_ref(unsafe { JObject::from_raw(raw) });
            text
        })
        .collect()
}

/// Calls a method without arguments that returns an object. `None` means null or an exception.
pub fn ask<'e>(env: &mut JNIEnv<'e>, object: &JObject<'_>, method: &str, kind: &str) -> Option<JObject<'e>> {
    let answer = env.call_method(object, method, format!("(){kind}"), &[]).and_then(JValueOwned::l);
    cleared(env, answer).filter(|object| !object.is_null())
}

/// Calls a static method without arguments that returns an object. `None` means null or an
/// exception.
pub fn ask_class<'e>(env: &mut JNIEnv<'e>, class: &str, method: &str, kind: &str) -> Option<JObject<'e>> {
    let answer = env.call_static_method(class, method, format!("(){kind}"), &[]).and_then(JValueOwned::l);
    cleared(env, answer).filter(|object| !object.is_null())
}

/// Announces many local references, before a JVMTI function makes them. The JVM reserves nothing.
/// With -Xcheck:jni it complains if more are made than were announced.
pub fn expect_many_references(env: &JNIEnv<'_>) {
    const MAX_LOCAL_REFERENCES: i32 = 60_000;
    let announced = env.ensure_local_capacity(MAX_LOCAL_REFERENCES);
    cleared(env, announced);
}

/// Wraps a reference from a JVMTI function or a callback. It is valid as long as `env`'s frame.
///
/// # Safety
/// `raw` must be a reference that is valid for the calling thread.
pub unsafe fn object<'e>(_env: &JNIEnv<'e>, raw: jobject) -> JObject<'e> {
    // SAFETY: by the caller's promise.
    unsafe { JObject::from_raw(raw) }
}

/// Clears an exception that the question raised. Returns the answer, or `None` after an exception.
pub fn cleared<T>(env: &JNIEnv<'_>, answer: errors::Result<T>) -> Option<T> {
    if answer.is_err() && env.exception_check().unwrap_or(false) {
        // No remedy exists if even this fails.
        let _ = env.exception_clear();
    }
    answer.ok()
}

/// Makes a `java.lang.Thread` with this name, not started.
pub fn new_thread<'e>(env: &mut JNIEnv<'e>, name: &str) -> Option<JObject<'e>> {
    let name = env.new_string(name);
    let name = cleared(env, name)?;
    let thread = env.new_object("java/lang/Thread", "(Ljava/lang/String;)V", &[(&name).into()]);
    cleared(env, thread)
}
