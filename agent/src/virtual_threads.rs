//! When it is looked for where this JVM has the frames of virtual threads, by whom, and what came
//! of it.
//!
//! It must never run Java on a thread that is sampled meanwhile, nor hold up one of the program's
//! for long.

use std::time::Duration;

use jni::JNIEnv;
use jni::objects::{GlobalRef, JClass};
use once_cell::sync::OnceCell;
use parking_lot::{Condvar, Mutex};
use vouch_hotspot::HotSpot;
use vouch_walk::hotspot::HotspotWalker;

use crate::facade::Jvmti;
use crate::java;
use crate::wake::wake;
use continuations::Carriers;

pub mod continuations;

/// What came of looking, since there may be virtual threads.
static FOUND: OnceCell<Result<Carriers, String>> = OnceCell::new();

/// The class of [`continuations::CLASS`], which somebody has met and nobody looked at yet; and who
/// waits until somebody has.
static MET: Mutex<Option<GlobalRef>> = Mutex::new(None);
static LOOKED: Condvar = Condvar::new();
/// A program is not held up for longer, whatever the agent's own thread has to do first.
const PATIENCE: Duration = Duration::from_millis(200);

/// A thread of the program's makes the first virtual one. The agent's own looks then, and this one
/// waits: Java runs for it, in which it would be sampled, called by an instruction that calls
/// nothing.
pub fn meet(env: &JNIEnv<'_>, class: &JClass<'_>) {
    let mut met = MET.lock();
    if FOUND.get().is_none() {
        *met = env.new_global_ref(class).ok();
        wake();
        LOOKED.wait_for(&mut met, PATIENCE);
    }
}

/// On the agent's own thread: whether somebody has met them.
pub fn look_if_met(own: &HotspotWalker, hotspot: &HotSpot, jvmti: Jvmti, env: &mut JNIEnv<'_>) {
    let met = MET.lock().take();
    if let Some(class) = met {
        look(own, hotspot, jvmti, env, class.as_obj().into());
        // So that who is about to wait does so before, or sees that it need not.
        drop(MET.lock());
        LOOKED.notify_all();
    }
}

/// There may be virtual threads: from now on our own walker finds their frames, if that can be.
/// `class` is the one of
/// [`continuations::CLASS`].
pub fn look(own: &HotspotWalker, hotspot: &HotSpot, jvmti: Jvmti, env: &mut JNIEnv<'_>, class: &JClass<'_>) {
    if FOUND.get().is_none() {
        let found = env.with_local_frame(64, |env| -> jni::errors::Result<Result<Carriers, String>> {
            let known = continuations::of(hotspot, jvmti, env, class);
            Ok(known.map(|(known, carriers)| {
                own.set_continuations(Box::leak(Box::new(known)));
                carriers
            }))
        });
        let found =
            java::cleared(env, found).unwrap_or_else(|| Err("there is no room for references".to_owned()));
        let _ = FOUND.set(found);
    }
}

/// True if there may have been a virtual thread.
pub fn met() -> bool {
    FOUND.get().is_some()
}

/// True if it can be told whom a carrier carries.
pub fn known() -> bool {
    matches!(FOUND.get(), Some(Ok(Ok(()))))
}

/// What is said where the frames of virtual threads cannot be found though there are some.
pub fn missing() -> Option<String> {
    match FOUND.get()? {
        Err(why) => Some(format!("virtual threads that were parked have neither a stack nor a name: {why}")),
        Ok(Err(why)) => Some(format!("samples of virtual threads cannot be assigned to them: {why}")),
        Ok(Ok(())) => None,
    }
}
