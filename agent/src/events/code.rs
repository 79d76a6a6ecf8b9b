//! Events of classes that are prepared and methods that are compiled.
//!
//! These JVMTI events are always on, so this module has no callbacks.

use jni_sys::jclass;
use vouch_recording::kinds;
use vouch_sample::MethodId;
use vouch_sampling::clock;
use vouch_sampling::own_thread;

use super::event_type::Row;
use super::{calling_thread, life};

pub static CLASS: Row = Row::new(&kinds::CLASS, &[]);

pub static COMPILATION: Row = Row::of_method(&kinds::COMPILATION);

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
pub fn compiled(method: MethodId, code: usize, size: usize) {
    if !COMPILATION.counts.wanted() {
        return;
    }
    let now = clock::monotonic();
    if COMPILATION.counted(now, now) {
        // The method's name is read later, because this callback must be short.
        COMPILATION.emit_for_method(now, method, life::field_values(size, life::made(code)));
    }
}
