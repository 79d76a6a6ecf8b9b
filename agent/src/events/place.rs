//! Where the calling thread stands, in a callback of the JVM's: what GetStackTrace says of it.
//!
//! It is in the midst of its callback, so what the JVM says of it is of this very moment. A callback must not be slowed by a stack without
//! a bound: the outermost frames of a deeper one are left out.

use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use jni::JNIEnv;
use jni_sys::jobject;
use vouch_sample::Frame;

use crate::agent::agent;
use crate::clock;
use crate::facade::StackFrame;
use crate::java;
use crate::resolve::readable;
use crate::threads::registry;

/// So many frames of a stack are taken, one more than are kept: so a stack that was cut is known to be cut.
static MOST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ROOM: RefCell<(Vec<StackFrame>, Vec<Frame>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    /// When what the thread waits for began.
    static BEGAN: Cell<Began> = const { Cell::new(Began { at: 0, note: 0 }) };
}

/// When something began on a thread, and what is to be known of it at its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Began {
    pub at: u64,
    pub note: u64,
}

/// When the recording began: of what had begun before, nobody knows whether its end was missed.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A recording begins that keeps so many frames of a stack.
pub fn start(depth: usize) {
    /// Deeper, a callback would take too long.
    const DEEPEST: usize = 2_048;
    MOST.store(depth.min(DEEPEST) + 1, Relaxed);
    STARTED.store(clock::monotonic(), Relaxed);
}

/// The calling thread, by the kernel's id and our number.
pub fn own() -> (u32, u32) {
    let tid = clock::own_tid();
    let slot = registry().slots().find(tid);
    (tid, slot.map_or(0, vouch_signal::slots::Slot::serial))
}

/// Passes the calling thread's stack on, leaf first; an empty one if it cannot be had.
pub fn with_stack(take: impl FnOnce(&[Frame])) {
    ROOM.with(|room| match (room.try_borrow_mut(), agent()) {
        (Ok(mut room), Some(agent)) => {
            let (theirs, frames) = &mut *room;
            let found = agent.jvmti.stack_trace(null_mut(), theirs, MOST.load(Relaxed)).unwrap_or(0);
            frames.clear();
            frames.extend(theirs.iter().take(found).map(|frame| frame.frame()));
            take(frames);
        }
        _ => take(&[]),
    });
}

/// The class of an object, as in source; empty if it cannot be had.
///
/// # Safety
/// `env` must be the calling thread's, and `object` a reference that is valid there.
pub unsafe fn class_of(env: *mut jni_sys::JNIEnv, object: jobject) -> String {
    // SAFETY: by the caller's promise.
    let Ok(env) = (unsafe { JNIEnv::from_raw(env) }) else { return String::new() };
    // SAFETY: as above.
    let object = unsafe { java::object(&env, object) };
    let class = env.get_object_class(&object);
    java::cleared(&env, class).map_or_else(String::new, |class| class_name(class.as_raw()))
}

/// A class's name as in source.
pub fn class_name(class: jni_sys::jclass) -> String {
    let signature = agent().and_then(|agent| agent.jvmti.class_signature(class).ok());
    signature.map_or_else(String::new, |signature| readable::type_name(&signature))
}

/// The calling thread begins to wait.
pub fn begin(note: u64) {
    BEGAN.set(Began { at: clock::monotonic(), note });
}

/// It has come to an end; `None` if this recording has not seen it begin.
pub fn end() -> Option<Began> {
    Some(BEGAN.take()).filter(|began| began.at != 0 && began.at >= STARTED.load(Relaxed))
}
