//! The Java library's native methods for contexts and traces. Each only catches panics and calls
//! the implementation.
//!
//! The library calls them only for new objects: a thread's first context, or a context that it sees
//! for the first time.

use std::ffi::c_void;
use std::ptr::null_mut;

use jni::objects::{JClass, JObjectArray, JString};
use jni::{JNIEnv, NativeMethod};
use jni_sys::{jint, jlong, jobject};
use vouch_collect::contexts::{Context, ProgramContextKind, Refusal};
use vouch_sampling::clock;
use vouch_sampling::thread_contexts::PaddedThreadContext;
use vouch_sampling::threads::registry;
use vouch_signal::thread_context::ThreadContext;

use super::{contexts, mounted_vthread};
use crate::fault::guard;
use crate::java;
use crate::library::native::{buffer, method};

/// The library gets this instead of a number if there are too many contexts. It need not ask again.
const FULL: jint = -1;

pub fn methods() -> [NativeMethod; 7] {
    let kind = "(Ljava/lang/String;Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/String;)I";
    [
        method("cell", "()Ljava/nio/ByteBuffer;", thread_context as *const c_void),
        method("virtuals", "()Ljava/nio/ByteBuffer;", virtuals as *const c_void),
        method("claim", "(J)I", claim as *const c_void),
        method("kind", kind, self::kind as *const c_void),
        method("context", "(II[Ljava/lang/String;)I", context as *const c_void),
        method("inside", "(II)I", inside as *const c_void),
        method("lost", "()V", lost as *const c_void),
    ]
}

/// Returns the calling thread's `ThreadContext` as a direct buffer, or null if it has none.
extern "system" fn thread_context(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobject {
    guard(null_mut(), || {
        let thread_context = registry()
            .thread_context(clock::own_tid())
            .map(PaddedThreadContext::thread_context)
            .map(std::ptr::from_ref);
        // SAFETY: it is never freed. Its only writer is the thread that gets the buffer, for as
        // long as it runs Java code.
        unsafe {
            buffer(&mut env, thread_context.map(|all| (all.cast_mut().cast(), size_of::<ThreadContext>())))
        }
    })
}

/// Returns the table with the contexts of virtual threads as a direct buffer, or null if it is not
/// available.
extern "system" fn virtuals(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobject {
    guard(null_mut(), || {
        let table = mounted_vthread::table();
        // SAFETY: the table is never freed, and contains only atomics. Each entry is written by the
        // virtual thread that has claimed it.
        unsafe { buffer(&mut env, Some((table.as_ptr().cast_mut().cast(), size_of_val(table)))) }
    })
}

/// Returns the offset of the calling virtual thread's entry in that table, or -1 if it has none.
/// `id` is the id of the virtual thread.
extern "system" fn claim(env: JNIEnv<'_>, _: JClass<'_>, id: jlong) -> jint {
    guard(None, || {
        // SAFETY: the JVM passes the calling thread's JNIEnv, and a virtual thread passes its own
        // id.
        let index = unsafe { mounted_vthread::claim(env.get_raw() as usize, u64::try_from(id).ok()?) }?;
        jint::try_from(index).ok()
    })
    .unwrap_or(-1)
}

/// Returns the number of a class of contexts.
extern "system" fn kind(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    class: JString<'_>,
    label: JString<'_>,
    keys: JObjectArray<'_>,
    labels: JObjectArray<'_>,
) -> jint {
    numbered(|| {
        let class = java::text(&mut env, class.into())?;
        let label = java::text(&mut env, label.into())?;
        let (keys, labels) = (java::texts(&mut env, &keys)?, java::texts(&mut env, &labels)?);
        Some(
            contexts()
                .kind(ProgramContextKind { class, label, fields: keys.into_iter().zip(labels).collect() })
                .cast_signed(),
        )
    })
}

/// Returns the number of a context within another one.
extern "system" fn context(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    outer: jint,
    kind: jint,
    values: JObjectArray<'_>,
) -> jint {
    numbered(|| {
        let values = java::texts(&mut env, &values)?;
        let (outer, kind) = (outer.cast_unsigned(), kind.cast_unsigned());
        match contexts().number(Context { outer, kind, values }) {
            Ok(number) => Some(number.cast_signed()),
            Err(Refusal::Full) => Some(FULL),
            Err(Refusal::Invalid) => None,
        }
    })
}

/// Returns 1 if a context is nested in another one, at any depth.
extern "system" fn inside(_: JNIEnv<'_>, _: JClass<'_>, context: jint, other: jint) -> jint {
    guard(0, || contexts().is_inside(context.cast_unsigned(), other.cast_unsigned()).into())
}

/// Counts a dropped context.
extern "system" fn lost(_: JNIEnv<'_>, _: JClass<'_>) {
    guard((), || contexts().count_lost());
}

/// Converts a number to Java's type. `None` becomes 0.
fn numbered(number: impl FnOnce() -> Option<jint>) -> jint {
    guard(None, number).unwrap_or(0)
}
