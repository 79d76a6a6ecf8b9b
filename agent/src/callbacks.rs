//! The events that the JVM tells: each is guarded against panics and passed on.
//!
//! A callback runs on a thread of the program's, in the middle of something: it must be short, and must not throw.

use std::ffi::c_void;

use jni::JNIEnv;
use jni_sys::{jclass, jmethodID, jobject};
use jvmti_sys::{jthread, jvmtiAddrLocationMap, jvmtiEnv};

use crate::agent::{Agent, agent};
use crate::clock;
use crate::facade::{Callbacks, Jvmti};
use crate::fault::guard;
use crate::java;
use crate::say::say;
use crate::threads::{hook, registry, rename};

/// The table for the JVM.
pub fn table() -> Callbacks {
    Callbacks {
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ThreadStart: Some(thread_start),
        ThreadEnd: Some(thread_end),
        ClassLoad: Some(class_load),
        ClassPrepare: Some(class_prepare),
        NativeMethodBind: Some(native_method_bind),
        CompiledMethodLoad: Some(compiled_method_load),
        ..Callbacks::default()
    }
}

/// Runs `act` with the agent and the thread's JNI environment.
///
/// # Safety
/// `env` must be the calling thread's.
unsafe fn with<'e>(env: *mut jni_sys::JNIEnv, act: impl FnOnce(&'static Agent, JNIEnv<'e>)) {
    guard((), || {
        // SAFETY: by the caller's promise.
        if let (Some(agent), Ok(env)) = (agent(), unsafe { JNIEnv::from_raw(env) }) {
            act(agent, env);
        }
    });
}

unsafe extern "C" fn vm_init(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread) {
    // SAFETY: the JVM passes the calling thread's JNIEnv and its own reference.
    unsafe {
        with(env, |agent, mut env| {
            enter_thread(agent.jvmti, &mut env, thread);
            if let Err(why) = agent.settle_in(&mut env) {
                say(&why);
            }
            agent.begin_now();
        });
    }
}

unsafe extern "C" fn vm_death(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv) {
    // SAFETY: as above.
    unsafe { with(env, |agent, mut env| agent.die(&mut env)) };
}

unsafe extern "C" fn thread_start(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread) {
    // SAFETY: as above.
    unsafe { with(env, |agent, mut env| enter_thread(agent.jvmti, &mut env, thread)) };
}

unsafe extern "C" fn thread_end(_: *mut jvmtiEnv, _: *mut jni_sys::JNIEnv, _: jthread) {
    guard((), || registry().java_end(clock::own_tid()));
}

/// Nothing to do: the event only has to be on.
unsafe extern "C" fn class_load(_: *mut jvmtiEnv, _: *mut jni_sys::JNIEnv, _: jthread, _: jclass) {}

unsafe extern "C" fn class_prepare(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, _: jthread, class: jclass) {
    // SAFETY: as above.
    unsafe { with(env, |agent, mut env| agent.resolver.prepared(&mut env, class)) };
}

unsafe extern "C" fn native_method_bind(
    _: *mut jvmtiEnv,
    _: *mut jni_sys::JNIEnv,
    _: jthread,
    _: jmethodID,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    guard((), || {
        // The first call into a library that has just been loaded: the threads that it makes are to be met.
        hook::install_if_new();
        let set_name = agent().and_then(|agent| agent.hotspot.set_native_thread_name);
        if let Some(ours) = set_name.and_then(|set_name| rename::on_bind(address, set_name)) {
            // SAFETY: the JVM passes the place where it reads the address to bind.
            unsafe { new_address.write(ours) };
        }
    });
}

/// Nothing to do: the event only has to be on, and the compilers keep debug information for every instruction.
unsafe extern "C" fn compiled_method_load(
    _: *mut jvmtiEnv,
    _: jmethodID,
    _: i32,
    _: *const c_void,
    _: i32,
    _: *const jvmtiAddrLocationMap,
    _: *const c_void,
) {
}

/// A Java thread begins, on itself.
///
/// # Safety
/// `thread` must be a reference that is valid for `env`'s thread.
unsafe fn enter_thread(jvmti: Jvmti, env: &mut JNIEnv<'_>, thread: jobject) {
    // SAFETY: by the caller's promise.
    let object = unsafe { java::object(env, thread) };
    let java_thread = java::java_thread(env, &object);
    let name = jvmti.thread_name(thread).ok();
    registry().java_start(clock::own_tid(), env.get_raw().cast(), java_thread, name.as_deref());
    hook::watch_end();
}
