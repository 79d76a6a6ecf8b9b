//! Events of classes that are prepared and methods that are compiled.

use std::ffi::c_void;

use jni_sys::{jclass, jmethodID};
use jvmti_sys::{jvmtiAddrLocationMap, jvmtiEnv};
use vouch_collect::compiled;
use vouch_recording::kinds;
use vouch_sample::MethodId;
use vouch_sampling::clock;
use vouch_sampling::own_thread;

use super::calling_thread;
use super::compilation::{field_values, made};
use super::event_type::Row;
use crate::facade::{Callbacks, Capability, Event, EventSubscription, Jvmti, RequiredFor, frame_counts};
use crate::fault::guard;

pub static CLASS: Row = Row::new(&kinds::CLASS, &[]);

/// The events of compiled code. They are on during recordings that count them, and always if
/// compiled code cannot be read from memory ([`compiled::is_reported`]).
pub static COMPILED_CODE: [EventSubscription; 2] = [
    subscription(Event::CompiledMethodLoad, |table| {
        table.known.CompiledMethodLoad = Some(compiled_method_load);
    }),
    subscription(Event::CompiledMethodUnload, |table| {
        table.known.CompiledMethodUnload = Some(compiled_method_unload);
    }),
];

const fn subscription(event: Event, install: fn(&mut Callbacks)) -> EventSubscription {
    const ALL: &[Capability] = &[Capability::GenerateCompiledMethodLoadEvents];
    EventSubscription { event, capabilities: ALL, install, required_for: RequiredFor::Itself }
}

pub static COMPILATION: Row = Row { subscriptions: &COMPILED_CODE, ..Row::of_method(&kinds::COMPILATION) };

/// Makes the JVM report compiled code from now on as long as it runs.
pub fn report_always(jvmti: Jvmti) {
    for subscription in &COMPILED_CODE {
        // Without the events, top frames of compiled code are uncertain.
        let _ = jvmti.enable(subscription.event);
    }
}

/// Makes the JVM report the code that exists already, unless it has done so.
pub fn add_existing(jvmti: Jvmti) {
    compiled::add_existing(|| {
        // In a JVM that refuses, the top frames of such code are uncertain, and the graph of
        // compiled code has less data.
        let _ = jvmti.generate_events(Event::CompiledMethodLoad);
    });
}

/// Records that the calling thread has prepared a class.
pub fn prepared(class: jclass) {
    if !CLASS.counts.wanted() || own_thread::is_calling() {
        return;
    }
    let now = clock::monotonic();
    if CLASS.counted(now, now) {
        CLASS.emit_here(now, now, [], &calling_thread::class_name(class));
    }
}

/// Records that a method was compiled.
fn record(method: MethodId, code: usize, size: usize) {
    if !COMPILATION.counts.wanted() {
        return;
    }
    let now = clock::monotonic();
    if COMPILATION.counted(now, now) {
        // The method's name is read later, because this callback must be short.
        COMPILATION.emit_for_method(now, method, field_values(size, made(code)));
    }
}

/// The event also makes the compilers keep debug information for every instruction.
unsafe extern "C" fn compiled_method_load(
    _: *mut jvmtiEnv,
    method: jmethodID,
    size: i32,
    code: *const c_void,
    _: i32,
    _: *const jvmtiAddrLocationMap,
    info: *const c_void,
) {
    guard((), || {
        let size = usize::try_from(size).unwrap_or(0);
        // SAFETY: the JVM passes its records, which live until the event ends.
        if compiled::on_load(MethodId(method as usize), code as usize, size, unsafe { frame_counts(info) }) {
            record(MethodId(method as usize), code as usize, size);
        }
    });
}

unsafe extern "C" fn compiled_method_unload(_: *mut jvmtiEnv, method: jmethodID, code: *const c_void) {
    guard((), || compiled::on_unload(MethodId(method as usize), code as usize));
}
