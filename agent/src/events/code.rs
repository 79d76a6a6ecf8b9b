//! What the program's code goes through: exceptions, classes that are made ready, methods that are compiled.
//!
//! The agent is told of classes and compiled methods anyway, so these have no callbacks of their own.

use jni_sys::{jclass, jmethodID, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use vouch_recording::kinds;
use vouch_sample::MethodId;

use super::row::Row;
use super::{life, place};
use crate::clock;
use crate::facade::{Capability, Event, Need, Told};
use crate::fault::guard;
use crate::own_thread;

pub static EXCEPTION: Row = Row::of(
    &kinds::EXCEPTION,
    &[Told {
        event: Event::Exception,
        capabilities: &[Capability::GenerateExceptionEvents],
        install: |table| table.known.Exception = Some(thrown),
        need: Need::Itself,
    }],
);

pub static CLASS: Row = Row::of(&kinds::CLASS, &[]);

pub static COMPILATION: Row = Row::of_method(&kinds::COMPILATION);

unsafe extern "C" fn thrown(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    _: jthread,
    _: jmethodID,
    _: i64,
    exception: jobject,
    catcher: jmethodID,
    _: i64,
) {
    guard((), || {
        let now = clock::monotonic();
        if EXCEPTION.counted(now, now) {
            // SAFETY: the JVM passes the calling thread's JNIEnv, and a reference that is valid there.
            let class = unsafe { place::class_of(env, exception) };
            let values = [0, u64::from(!catcher.is_null())];
            EXCEPTION.happened_here(now, now, values, &class);
        }
    });
}

/// The calling thread has a class prepared.
pub fn prepared(class: jclass) {
    if !CLASS.counts.wanted() || own_thread::is_calling() {
        return;
    }
    let now = clock::monotonic();
    if CLASS.counted(now, now) {
        CLASS.happened_here(now, now, [], &place::class_name(class));
    }
}

/// There is code of a method, from here on.
pub fn compiled(method: MethodId, code: usize, size: usize) {
    if !COMPILATION.counts.wanted() {
        return;
    }
    let now = clock::monotonic();
    if COMPILATION.counted(now, now) {
        // Nothing is asked about the method here: its name comes later.
        COMPILATION.happened_to(now, method, life::figures(size, life::made(code)));
    }
}
