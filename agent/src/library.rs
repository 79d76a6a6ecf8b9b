//! The Java library `dev.vouch`, as the agent meets it: its class `Agent` gets its natives, whoever
//! has loaded it.
//!
//! What they do stands beside what they are about: contexts, markers, groups. None may ever throw
//! into the program.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use jni::objects::{JByteBuffer, JClass, JValue, JValueOwned};
use jni::{JNIEnv, NativeMethod};
use jni_sys::{JNI_TRUE, jclass, jint, jobject};

use crate::contexts;
use crate::fault::guard;
use crate::groups;
use crate::java;
use crate::markers;
use crate::say::say;

/// What both sides have agreed upon.
const PROTOCOL: jint = 2;
/// The class whose natives these are, as the JVM writes it.
const CLASS: &str = "Ldev/vouch/Agent;";

/// What somebody wants of the library: a bit for each. It reads the word before it does anything.
static WANTED: AtomicU32 = AtomicU32::new(0);
/// Its groups of tasks.
pub const GROUPS: u32 = 1;
/// Its markers.
pub const MARKERS: u32 = 2;

/// From here on somebody wants this, or nobody does.
pub fn want(what: u32, wanted: bool) {
    if wanted {
        WANTED.fetch_or(what, SeqCst);
    } else {
        WANTED.fetch_and(!what, SeqCst);
    }
}

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
    let word = method("wanted", "()Ljava/nio/ByteBuffer;", wanted as *const c_void);
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

/// A native of the library's.
pub fn method(name: &str, signature: &str, native: *const c_void) -> NativeMethod {
    NativeMethod { name: name.into(), sig: signature.into(), fn_ptr: native.cast_mut() }
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

/// The word that says what somebody wants; null if it cannot be had.
extern "system" fn wanted(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobject {
    guard(null_mut(), || {
        // SAFETY: of a static, and the library only reads it.
        unsafe { buffer(&mut env, Some((WANTED.as_ptr().cast(), size_of_val(&WANTED)))) }
    })
}

/// Memory of ours as a direct buffer; null for none, or if there is none to be had.
///
/// # Safety
/// It must never be freed, and the program may write it only where and when anybody may.
pub unsafe fn buffer(env: &mut JNIEnv<'_>, memory: Option<(*mut u8, usize)>) -> jobject {
    let Some((memory, size)) = memory else { return null_mut() };
    // SAFETY: by the caller's promise.
    let buffer = unsafe { env.new_direct_byte_buffer(memory, size) };
    java::cleared(env, buffer).map_or(null_mut(), JByteBuffer::into_raw)
}
