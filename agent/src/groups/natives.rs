//! The Java library's native methods for groups of tasks. Each only catches panics and calls the
//! implementation.

use std::ffi::c_void;
use std::ptr::null_mut;

use jni::objects::{JClass, JObject, JString};
use jni::{JNIEnv, NativeMethod};
use jni_sys::{jint, jlong, jlongArray, jobject, jobjectArray};
use vouch_sampling::clock;
use vouch_sampling::context_switches::READ_BYTES;
use vouch_sampling::task_sums::{ABANDONED, TaskSums};
use vouch_sampling::threads::registry;

use super::groups;
use super::task::{MAX_IN_A_SECOND, MIN_SHOWN_NS, TASK};
use crate::fault::guard;
use crate::java;
use crate::library::native::{buffer, method};

pub fn methods() -> [NativeMethod; 10] {
    [
        method("switches", "()Ljava/nio/ByteBuffer;", switches as *const c_void),
        method("cpu", "()J", cpu as *const c_void),
        method("want", "()V", want as *const c_void),
        method("group", "(Ljava/lang/String;)I", group as *const c_void),
        method("sums", "(I)Ljava/nio/ByteBuffer;", sums as *const c_void),
        method("spend", "(IJJ)V", spend as *const c_void),
        method("abandon", "(I)V", abandon as *const c_void),
        method("tookLong", "(IJJJ)V", took_long as *const c_void),
        method("groups", "()[Ljava/lang/String;", names as *const c_void),
        method("spent", "(I)[J", spent as *const c_void),
    ]
}

/// Returns the page with the calling thread's context switches.
extern "system" fn switches(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobject {
    guard(null_mut(), || {
        let page = registry().switches(clock::own_tid());
        // SAFETY: the page exists while the thread lives, and only that thread's library code reads
        // it.
        unsafe { buffer(&mut env, page.map(|page| (page.as_ptr(), READ_BYTES))) }
    })
}

/// Returns the calling thread's CPU time.
extern "system" fn cpu(_: JNIEnv<'_>, _: JClass<'_>) -> jlong {
    clock::own_cpu().cast_signed()
}

/// Records that the program wants groups from now on.
extern "system" fn want(_: JNIEnv<'_>, _: JClass<'_>) {
    guard((), || groups().request());
}

/// Returns the number of a group.
extern "system" fn group(mut env: JNIEnv<'_>, _: JClass<'_>, name: JString<'_>) -> jint {
    guard(1, || java::text(&mut env, name.into()).map_or(1, |name| groups().number(&name).cast_signed()))
}

/// Returns the calling thread's sums of a group.
extern "system" fn sums(mut env: JNIEnv<'_>, _: JClass<'_>, group: jint) -> jobject {
    guard(null_mut(), || {
        let sums = registry().sums(clock::own_tid(), group.cast_unsigned());
        let memory = sums
            .map(|sums: &TaskSums| (sums.values().as_ptr().cast_mut().cast(), size_of_val(sums.values())));
        // SAFETY: sums are never freed. Their only writer is the thread that gets the buffer, for
        // as long as it runs Java code.
        unsafe { buffer(&mut env, memory) }
    })
}

/// Adds a task to a group's shared sums. The times are in ns, and a negative `cpu` is unknown.
extern "system" fn spend(_: JNIEnv<'_>, _: JClass<'_>, group: jint, wall: jlong, cpu: jlong) {
    guard((), || {
        if let Some(group) = groups().get(group.cast_unsigned()) {
            group.shared.add_task(u64::try_from(wall).unwrap_or(0), u64::try_from(cpu).ok());
        }
    });
}

/// Counts an abandoned task of a group, for which no time is valid.
extern "system" fn abandon(_: JNIEnv<'_>, _: JClass<'_>, group: jint) {
    guard((), || {
        if let Some(group) = groups().get(group.cast_unsigned()) {
            group.shared.add(ABANDONED, 1);
        }
    });
}

/// Records a long task of the calling thread.
extern "system" fn took_long(
    _: JNIEnv<'_>,
    _: JClass<'_>,
    group: jint,
    began: jlong,
    ended: jlong,
    cpu: jlong,
) {
    guard(None, || {
        let (began, ended) = (u64::try_from(began).ok()?, u64::try_from(ended).ok()?);
        let group = groups().get(group.cast_unsigned())?;
        if ended.saturating_sub(began) >= MIN_SHOWN_NS && TASK.counted_within(began, ended, MAX_IN_A_SECOND) {
            let cpu_ms = u64::try_from(cpu).map_or(f64::NAN, vouch_report::millis);
            TASK.emit_here_with(
                began,
                ended,
                vouch_sample::pad_values([0, cpu_ms.to_bits()]),
                &group.name,
                false,
            );
        }
        Some(())
    });
}

/// Returns the names of all groups, by their numbers.
extern "system" fn names(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobjectArray {
    guard(None, || {
        let names: Vec<String> = groups().defined().map(|group| group.name.clone()).collect();
        let length = jint::try_from(names.len()).ok()?;
        let array = env.new_object_array(length, "java/lang/String", JObject::null());
        let array = java::cleared(&env, array)?;
        for (at, name) in (0..).zip(names) {
            let text = env.new_string(name);
            let text = env.auto_local(java::cleared(&env, text)?);
            let set = env.set_object_array_element(&array, at, &text);
            java::cleared(&env, set)?;
        }
        Some(array.into_raw())
    })
    .unwrap_or(null_mut())
}

/// Returns the sums of all tasks of a group.
extern "system" fn spent(env: JNIEnv<'_>, _: JClass<'_>, group: jint) -> jlongArray {
    guard(None, || {
        let sums = groups().get(group.cast_unsigned())?.sums().map(u64::cast_signed);
        let array = env.new_long_array(jint::try_from(sums.len()).ok()?);
        let array = java::cleared(&env, array)?;
        let set = env.set_long_array_region(&array, 0, &sums);
        java::cleared(&env, set)?;
        Some(array.into_raw())
    })
    .unwrap_or(null_mut())
}
