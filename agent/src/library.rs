//! The Java library `dev.vouch`, as the agent meets it: its class `Agent` gets its natives, whoever has loaded it.
//!
//! What they do stands beside what they are about: contexts and markers. None may ever throw into the program.

use std::ffi::c_void;

use jni::objects::{JClass, JValue, JValueOwned};
use jni::{JNIEnv, NativeMethod};
use jni_sys::{JNI_TRUE, jclass, jint};

use crate::contexts;
use crate::java;
use crate::markers;

/// What both sides have agreed upon.
const PROTOCOL: jint = 1;
/// The class whose natives these are, as the JVM writes it.
const CLASS: &str = "Ldev/vouch/Agent;";

/// A class has been prepared, or was when the agent was attached. If it is the library's it gets its natives: there is one of each class
/// loader that has loaded it. One that may have looked for the agent in vain, before, is told that it is there.
pub fn met(env: &mut JNIEnv<'_>, class: jclass, signature: &str, before: bool) {
    if signature != CLASS {
        return;
    }
    // SAFETY: the caller's local reference, which it keeps until this returns; dropping it here does nothing.
    let class = unsafe { JClass::from_raw(class) };
    // An older library has no markers: what it has must not be lost by that.
    let marks = env.register_native_methods(&class, &markers::natives::methods());
    java::cleared(env, marks);
    let contexts = env.register_native_methods(&class, &contexts::natives::methods());
    java::cleared(env, contexts);
    let bound = env.register_native_methods(&class, &[method("protocol", "()I", protocol as *const c_void)]);
    if java::cleared(env, bound).is_none() || !before {
        return;
    }
    let theirs = env.get_static_field(&class, "PROTOCOL", "I").and_then(JValueOwned::i);
    if java::cleared(env, theirs) == Some(PROTOCOL) {
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

extern "system" fn protocol(_: JNIEnv<'_>, _: JClass<'_>) -> jint {
    PROTOCOL
}
