//! Decides when and on which thread the layout of virtual threads is searched for, and keeps the
//! result.
//!
//! The search calls Java code, so it must never run on a thread that is sampled meanwhile. It must
//! not block a thread of the program for long.

use std::time::Duration;

use jni::JNIEnv;
use jni::objects::{GlobalRef, JClass};
use once_cell::sync::OnceCell;
use parking_lot::{Condvar, Mutex};
use vouch_hotspot::HotSpot;
use vouch_unwind::hotspot::HotspotWalker;

use crate::error::VirtualThreadsError;
use crate::facade::Jvmti;
use crate::java;
use crate::wake::wake;
use continuations::MountedVthreads;

pub mod continuations;

/// The result of the search. It is empty as long as the program cannot have virtual threads.
static RESULT: OnceCell<Result<MountedVthreads, VirtualThreadsError>> = OnceCell::new();

/// The class [`continuations::CLASS`] if a thread has requested the search and it has not run yet.
static REQUEST: Mutex<Option<GlobalRef>> = Mutex::new(None);
/// Wakes the thread that requested the search.
static FINISHED: Condvar = Condvar::new();
/// The longest time for which a thread of the program waits for the search, in case the agent's own
/// thread is busy.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// Requests the search and waits for it. A thread of the program calls this when it makes the first
/// virtual thread.
///
/// The agent's own thread runs the search. On the calling thread, samples of the search's Java code
/// would have a caller at an instruction that is no call, and would be refuted.
pub fn request_search(env: &JNIEnv<'_>, class: &JClass<'_>) {
    let mut request = REQUEST.lock();
    if RESULT.get().is_none() {
        *request = env.new_global_ref(class).ok();
        wake();
        FINISHED.wait_for(&mut request, MAX_WAIT);
    }
}

/// Runs the search if a thread has requested it. The agent's own thread calls this.
pub fn search_if_requested(walker: &HotspotWalker, hotspot: &HotSpot, jvmti: Jvmti, env: &mut JNIEnv<'_>) {
    let request = REQUEST.lock().take();
    if let Some(class) = request {
        search(walker, hotspot, jvmti, env, class.as_obj().into());
        // With the lock, a thread in `request_search` either waits already or sees the result.
        drop(REQUEST.lock());
        FINISHED.notify_all();
    }
}

/// Searches for the layout of virtual threads, once, and passes it to Vouch's own walker. `class`
/// is [`continuations::CLASS`].
pub fn search(
    walker: &HotspotWalker,
    hotspot: &HotSpot,
    jvmti: Jvmti,
    env: &mut JNIEnv<'_>,
    class: &JClass<'_>,
) {
    if RESULT.get().is_none() {
        let result = env.with_local_frame(
            64,
            |env| -> jni::errors::Result<Result<MountedVthreads, VirtualThreadsError>> {
                let found = continuations::find(hotspot, jvmti, env, class);
                Ok(found.map(|(layout, mounted)| {
                    walker.set_continuations(Box::leak(Box::new(layout)));
                    mounted
                }))
            },
        );
        let result = java::cleared(env, result).unwrap_or(Err(VirtualThreadsError::NoReferences));
        let _ = RESULT.set(result);
    }
}

/// Returns true if the program may have had a virtual thread.
pub fn may_exist() -> bool {
    RESULT.get().is_some()
}

/// Returns true if the walker can find which virtual thread is mounted on a carrier.
pub fn are_identified() -> bool {
    matches!(RESULT.get(), Some(Ok(Ok(()))))
}

/// Returns a sentence for the report if virtual threads may exist and cannot be walked or
/// identified.
pub fn problem() -> Option<String> {
    match RESULT.get()? {
        Err(why) => Some(format!("virtual threads that were parked have neither a stack nor a name: {why}")),
        Ok(Err(why)) => Some(format!("samples of virtual threads cannot be assigned to them: {why}")),
        Ok(Ok(())) => None,
    }
}
