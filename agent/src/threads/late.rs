//! Enters the Java threads that began before the agent: their JNIEnvs are found in their
//! JavaThreads.
//!
//! Thread start and end events are enabled before this runs. A thread that ends meanwhile removes
//! its JNIEnv itself, and the JNIEnv is not entered again.

use std::ffi::c_void;

use jni::JNIEnv;
use jni::objects::JObject;
use vouch_hotspot::vmstructs::ThreadLayout;
use vouch_sampling::threads::live_java_threads::LIVE_JAVA_THREADS;
use vouch_sampling::threads::registry;

use crate::error::Error;
use crate::events::monitor;
use crate::facade::Jvmti;
use crate::java;

/// Enters every Java thread. `place` is the offset of the JNIEnv in a JavaThread. `Err` gives the
/// reason why their stacks cannot be walked.
pub fn enter_all(
    jvmti: Jvmti,
    env: &mut JNIEnv<'_>,
    place: Option<usize>,
    layout: Option<ThreadLayout>,
) -> Result<(), Error> {
    let layout = layout.ok_or(Error::EarlierThreads)?;
    let place = place.ok_or(Error::OwnJavaThread)?;
    LIVE_JAVA_THREADS.set_complete(true);
    each_java_thread(jvmti, env, |env, thread| {
        let java_thread = java::java_thread(env, thread);
        let Some(tid) = layout.tid(java_thread).filter(|_| java_thread != 0) else { return };
        let name = jvmti.thread_name(thread.as_raw()).ok();
        let their_env = (java_thread + place) as *mut c_void;
        if !registry().java_found(tid, their_env, java_thread, name.as_deref()) {
            return;
        }
        monitor::started(tid, java_thread, env, thread, true);
        // The thread may have ended before its end event was enabled. (No other thread uses its
        // JavaThread's address yet, or that thread has reported its start.)
        if !jvmti.is_alive(thread.as_raw())
            && registry().java_serial(java_thread).is_some_and(|(of, _)| of == tid)
        {
            registry().java_end(tid);
            LIVE_JAVA_THREADS.leave(tid);
        }
    });
    Ok(())
}

/// Calls `visit` with every live platform thread. Local references are deleted one by one.
pub fn each_java_thread(
    jvmti: Jvmti,
    env: &mut JNIEnv<'_>,
    mut visit: impl FnMut(&mut JNIEnv<'_>, &JObject<'_>),
) {
    java::expect_many_references(env);
    let Ok(threads) = jvmti.all_threads() else { return };
    for thread in threads.iter() {
        // A separate local frame, because a query for a name leaves references.
        let _ = env.with_local_frame(16, |env| -> jni::errors::Result<()> {
            // SAFETY: JVMTI gave this local reference to the calling thread, and it is not deleted
            // in the frame.
            let thread = unsafe { java::object(env, *thread) };
            visit(env, &thread);
            Ok(())
        });
        // SAFETY: as above. The reference is deleted here and not used again.
        let _ = env.delete_local_ref(unsafe { JObject::from_raw(*thread) });
    }
}
