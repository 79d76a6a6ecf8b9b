//! Registers natives in the class `Agent` of the Java library `dev.vouch`, for every class loader.
//!
//! The natives are in the modules for contexts, markers and groups. None may ever throw into the
//! program.

pub mod native;
pub mod requested;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use jni::JNIEnv;
use jni::objects::{JClass, JValue, JValueOwned};
use jni_sys::{JNI_TRUE, jclass, jint};

use crate::contexts;
use crate::fault::guard;
use crate::groups;
use crate::java;
use crate::markers;
use crate::say::say;
use native::method;
use requested::request_word_buffer;

/// The protocol version that library and agent share.
const PROTOCOL: jint = 2;
/// The class with these natives, as a JVM signature.
const CLASS: &str = "Ldev/vouch/Agent;";

/// Handles a class that was prepared, or was already loaded at attach. The library's class gets its
/// natives, once for each class loader that loads it. With `before`, the class may have looked for
/// the agent in vain, so its field is set.
pub fn on_class_prepared(env: &mut JNIEnv<'_>, class: jclass, signature: &str, before: bool) {
    if signature != CLASS {
        return;
    }
    // SAFETY: the caller keeps its local reference until this returns. Dropping it here does
    // nothing.
    let class = unsafe { JClass::from_raw(class) };
    // An older library has no markers and no groups. Its other natives must still work.
    let word = method("wanted", "()Ljava/nio/ByteBuffer;", request_word_buffer as *const c_void);
    for newer in [&markers::natives::methods()[..], &groups::natives::methods(), &[word]] {
        let bound = env.register_native_methods(&class, newer);
        java::cleared(env, bound);
    }
    let contexts = env.register_native_methods(&class, &contexts::natives::methods());
    java::cleared(env, contexts);
    let bound = env.register_native_methods(&class, &[method("protocol", "()I", protocol as *const c_void)]);
    if java::cleared(env, bound).is_none() || !before {
        return;
    }
    if has_same_protocol(env, &class) {
        let stored = env
            .get_static_field_id(&class, "here", "Z")
            .and_then(|here| env.set_static_field(&class, here, JValue::Bool(JNI_TRUE)));
        java::cleared(env, stored);
    }
}

/// The library calls this when it looks for the agent, or after the agent was loaded late.
extern "system" fn protocol(mut env: JNIEnv<'_>, class: JClass<'_>) -> jint {
    guard((), || {
        has_same_protocol(&mut env, &class);
    });
    PROTOCOL
}

/// Returns true if the library has the same protocol version. Other versions record nothing, so a
/// message says so.
fn has_same_protocol(env: &mut JNIEnv<'_>, class: &JClass<'_>) -> bool {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let theirs = env.get_static_field(class, "PROTOCOL", "I").and_then(JValueOwned::i);
    let is_same = java::cleared(env, theirs) == Some(PROTOCOL);
    if !is_same && !REPORTED.swap(true, SeqCst) {
        say(
            "the program's library dev.vouch is of another version than the agent: its contexts, markers and groups are not seen; take the one of this version",
        );
    }
    is_same
}
