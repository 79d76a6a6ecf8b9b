//! What the program's code goes through: classes that are made ready, methods that are compiled.
//!
//! The agent is told of classes and compiled methods anyway, so these have no callbacks of their
//! own.

use jni_sys::jclass;
use vouch_recording::kinds;
use vouch_sample::MethodId;

use super::event_type::Row;
use super::{calling_thread, life};
use crate::clock;
use crate::own_thread;

pub static CLASS: Row = Row::of(&kinds::CLASS, &[]);

pub static COMPILATION: Row = Row::of_method(&kinds::COMPILATION);

/// The calling thread has a class prepared.
pub fn prepared(class: jclass) {
    if !CLASS.counts.wanted() || own_thread::is_calling() {
        return;
    }
    let now = clock::monotonic();
    if CLASS.counted(now, now) {
        CLASS.happened_here(now, now, [], &calling_thread::class_name(class));
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
