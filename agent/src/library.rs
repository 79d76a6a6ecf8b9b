//! The Java library `dev.vouch`, as the agent meets it: its class `Agent` gets its natives, whoever
//! has loaded it.
//!
//! What they do stands beside what they are about: contexts, markers, groups. None may ever throw
//! into the program.

pub mod native;
pub mod wanted;

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
use wanted::buffer_of_word;

/// What both sides have agreed upon.
const PROTOCOL: jint = 2;
/// The class whose natives these are, as the JVM writes it.
const CLASS: &str = "Ldev/vouch/Agent;";

/// A class has been prepared, or was when the agent was attached. If it is the library's it gets
/// its natives: there is one of each class loader that has loaded it. One that may have looked for
/// the agent in vain, before, is told that it is there.
pub fn met(env: &mut JNIEnv<'_>, class: jclass, signature: &str, before: bool) {
    if signature != CLASS {
        return;
    }
    // SAFETY: the caller's local reference, which it keeps until this returns; dropping it here
    // does nothing.
    let class = unsafe { JClass::from_raw(class) };
    // An older library has no markers and no groups: what it has must not be lost by that.
    let word = method("wanted", "()Ljava/nio/ByteBuffer;", buffer_of_word as *const c_void);
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
    if agreed(env, &class) {
        let told = env
            .get_static_field_id(&class, "here", "Z")
            .and_then(|here| env.set_static_field(&class, here, JValue::Bool(JNI_TRUE)));
        java::cleared(env, told);
    }
}

/// Called by a library that has looked for the agent, in time or before the agent came.
extern "system" fn protocol(mut env: JNIEnv<'_>, class: JClass<'_>) -> jint {
    guard((), || {
        agreed(&mut env, &class);
    });
    PROTOCOL
}

/// Whether a library has agreed upon the same. Of one that has not nothing is seen, which its user
/// would not know.
fn agreed(env: &mut JNIEnv<'_>, class: &JClass<'_>) -> bool {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let theirs = env.get_static_field(class, "PROTOCOL", "I").and_then(JValueOwned::i);
    let agreed = java::cleared(env, theirs) == Some(PROTOCOL);
    if !agreed && !TOLD.swap(true, SeqCst) {
        say(
            "the program's library dev.vouch is of another version than the agent: its contexts, markers and groups are not seen; take the one of this version",
        );
    }
    agreed
}
