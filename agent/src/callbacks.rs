//! The callbacks of JVMTI's events. Each one catches panics and calls the module that handles the
//! event.
//!
//! A callback runs on a thread of the program, between any two of its instructions. It must be
//! short and must not throw.

use std::ffi::c_void;

use jni::JNIEnv;
use jni_sys::{jclass, jmethodID, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use vouch_sampling::clock;
use vouch_sampling::threads::live_java_threads::LIVE_JAVA_THREADS;
use vouch_sampling::threads::{hook, registry};

use crate::agent::{Agent, agent};
use crate::events::{self, ROWS, exception, monitor, park};
use crate::facade::{Callbacks, Capability, Event, EventSubscription, Jvmti, RequiredFor};
use crate::fault::guard;
use crate::java;
use crate::say::say;
use crate::threads::rename;
use crate::virtual_threads::continuations::GENERATED_CODE;
use crate::wake::wake;

/// The events that are enabled for every recording.
static ALWAYS_ON: [EventSubscription; 7] = [
    subscription(Event::VmInit, &[], |table| table.known.VMInit = Some(vm_init), RequiredFor::All),
    subscription(Event::VmDeath, &[], |table| table.known.VMDeath = Some(vm_death), RequiredFor::All),
    subscription(
        Event::ThreadStart,
        &[],
        |table| table.known.ThreadStart = Some(thread_start),
        RequiredFor::All,
    ),
    subscription(Event::ThreadEnd, &[], |table| table.known.ThreadEnd = Some(thread_end), RequiredFor::All),
    // Without ClassLoad AsyncGetCallTrace refuses to walk. Without ClassPrepare it finds no method
    // ids.
    subscription(Event::ClassLoad, &[], |table| table.known.ClassLoad = Some(class_load), RequiredFor::All),
    subscription(
        Event::ClassPrepare,
        &[],
        |table| table.known.ClassPrepare = Some(class_prepare),
        RequiredFor::All,
    ),
    subscription(
        Event::NativeMethodBind,
        &[Capability::GenerateNativeMethodBindEvents],
        |table| table.known.NativeMethodBind = Some(native_method_bind),
        RequiredFor::Itself,
    ),
];

const fn subscription(
    event: Event,
    capabilities: &'static [Capability],
    install: fn(&mut Callbacks),
    required_for: RequiredFor,
) -> EventSubscription {
    EventSubscription { event, capabilities, install, required_for }
}

/// Returns the events that are enabled for every recording.
pub fn always() -> impl Iterator<Item = &'static EventSubscription> {
    ALWAYS_ON.iter()
}

/// Makes the table of callbacks for the JVM.
pub fn table() -> Callbacks {
    let mut table = Callbacks::default();
    for subscription in always().chain([&GENERATED_CODE]).chain(ROWS.iter().flat_map(|row| row.subscriptions))
    {
        (subscription.install)(&mut table);
    }
    table
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
                say(&why.to_string());
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
    guard((), || {
        let own = clock::own_tid();
        registry().java_end(own);
        LIVE_JAVA_THREADS.leave(own);
    });
}

/// Does nothing. The event only has to be enabled.
unsafe extern "C" fn class_load(_: *mut jvmtiEnv, _: *mut jni_sys::JNIEnv, _: jthread, _: jclass) {}

unsafe extern "C" fn class_prepare(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, _: jthread, class: jclass) {
    // SAFETY: as above.
    unsafe {
        with(env, |agent, mut env| {
            agent.prepared(&mut env, class);
            events::prepared(class);
        });
    }
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
        // This may be the first call into a library that was just loaded. The agent must see the
        // threads that it creates. Its thread makes the tables for the library's native frames.
        if hook::install_if_changed() {
            wake();
        }
        let Some(hotspot) = agent().map(|agent| &agent.hotspot) else { return };
        let ours = hotspot.set_native_thread_name.and_then(|set_name| rename::on_bind(address, set_name));
        let ours = ours.or_else(|| park::on_bind(address, hotspot.park?));
        if let Some(ours) = ours.or_else(|| exception::on_bind(address)) {
            // SAFETY: the JVM passes the address from which it reads the function to bind.
            unsafe { new_address.write(ours) };
        }
    });
}

/// Registers a Java thread. The thread itself runs this when it begins.
///
/// # Safety
/// `thread` must be a reference that is valid for `env`'s thread.
unsafe fn enter_thread(jvmti: Jvmti, env: &mut JNIEnv<'_>, thread: jobject) {
    // SAFETY: by the caller's promise.
    let object = unsafe { java::object(env, thread) };
    let java_thread = java::java_thread(env, &object);
    let name = jvmti.thread_name(thread).ok();
    let own = clock::own_tid();
    registry().java_start(own, env.get_raw().cast(), java_thread, name.as_deref());
    monitor::started(own, java_thread, env, &object, false);
    hook::watch_end();
    events::on_thread_start();
}
