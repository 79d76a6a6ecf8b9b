//! Where the calling thread stands, in a callback of the JVM's or a native of the library's: what
//! GetStackTrace says of it.
//!
//! It is in the midst of that, so what the JVM says of it is of this very moment. A callback must
//! not be slowed by a stack without a bound: the outermost frames of a deeper one are left out.
//!
//! What is kept for a thread may be gone before its last callback: native threads detach late.

use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::jobject;
use vouch_sample::Frame;
use vouch_signal::slots::{Slot, Wait};

use crate::clock;
use crate::facade::{Jvmti, StackFrame};
use crate::java;
use crate::own_thread;
use crate::resolve::readable;
use crate::threads::registry;

/// Deeper, a callback would take too long.
pub const DEEPEST: usize = 2_048;
/// A thread keeps room for so many frames of its stack from one event to the next.
const KEPT: usize = 256;

/// So many frames of a stack are taken, one more than are kept: so a stack that was cut is known to
/// be cut.
static MOST: AtomicUsize = AtomicUsize::new(0);
/// When the recording began: of what had begun before, nobody knows whether its end was missed.
static STARTED: AtomicU64 = AtomicU64::new(0);
/// There may be virtual threads.
static VIRTUAL: AtomicBool = AtomicBool::new(false);

/// A thread, as it is known to its callbacks.
#[derive(Clone, Copy)]
struct Known {
    tid: u32,
    serial: u32,
    slot: &'static Slot,
}

thread_local! {
    static KNOWN: Cell<Option<Known>> = const { Cell::new(None) };
    static ROOM: RefCell<(Vec<StackFrame>, Vec<Frame>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// A recording begins that keeps so many frames of a stack.
pub fn start(jvmti: Jvmti, depth: usize) {
    MOST.store(depth.min(DEEPEST) + 1, Relaxed);
    VIRTUAL.store(jvmti.jdk().is_some_and(|jdk| jdk >= 21), Relaxed);
    STARTED.store(clock::monotonic(), Relaxed);
}

/// The calling thread, by the kernel's id and our number; 0 where it has none.
pub fn own() -> (u32, u32) {
    known().map_or_else(|| (clock::own_tid(), 0), |known| (known.tid, known.serial))
}

/// Passes the calling thread's stack on, leaf first; an empty one if it cannot be had, as at a
/// thread's very end.
pub fn with_stack<T>(take: impl FnOnce(&[Frame]) -> T) -> T {
    let room = ROOM.try_with(RefCell::take).unwrap_or_default();
    let (mut theirs, mut frames) = room;
    let found = Jvmti::current()
        .and_then(|jvmti| jvmti.stack_trace(null_mut(), &mut theirs, MOST.load(Relaxed)).ok());
    frames.clear();
    frames.extend(theirs.iter().take(found.unwrap_or(0)).map(|frame| frame.frame()));
    let taken = take(&frames);
    theirs.truncate(KEPT);
    theirs.shrink_to(KEPT);
    frames.shrink_to(KEPT);
    // A thread that is about to be gone needs no room.
    let _ = ROOM.try_with(|room| room.replace((theirs, frames)));
    taken
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
    class_of_object(&object, &env)
}

/// The same of one whose reference is known to be valid.
pub fn class_of_object(object: &JObject<'_>, env: &JNIEnv<'_>) -> String {
    let class = env.get_object_class(object);
    java::cleared(env, class).map_or_else(String::new, |class| class_name(class.as_raw()))
}

/// A class's name as in source.
pub fn class_name(class: jni_sys::jclass) -> String {
    let signature = Jvmti::current().and_then(|jvmti| jvmti.class_signature(class).ok());
    signature.map_or_else(String::new, |signature| readable::type_name(&signature))
}

/// The calling thread begins to wait; `still` is the number of the row that shows the wait if it is
/// not over at the recording's end. A virtual thread is left out: what begins on one carrier may
/// end on another; and the agent's own.
///
/// # Safety
/// `env` must be the calling thread's, and `thread` a reference that is valid there.
pub unsafe fn begin(env: *mut jni_sys::JNIEnv, thread: jobject, still: u64, note: impl FnOnce() -> u64) {
    // SAFETY: by the caller's promise.
    if !unsafe { is_virtual(env, thread) } {
        begin_here(still, note);
    }
}

/// The same of whatever runs on the calling thread, and will not leave it until that is over.
pub fn begin_here(still: u64, note: impl FnOnce() -> u64) {
    if !own_thread::is_calling()
        && let Some(known) = known()
    {
        let since = clock::monotonic();
        known.slot.begin_wait(Wait { since, kind: still, note: note() });
    }
}

/// It has come to an end; `None` if this recording has not seen it begin, or it was left out.
///
/// # Safety
/// As of [`begin`].
pub unsafe fn end(env: *mut jni_sys::JNIEnv, thread: jobject) -> Option<Wait> {
    // SAFETY: by the caller's promise.
    if unsafe { is_virtual(env, thread) } {
        return None;
    }
    end_here()
}

/// The same of what began with [`begin_here`].
pub fn end_here() -> Option<Wait> {
    known()?.slot.end_wait().filter(is_of_this_recording)
}

/// The calling thread, found once. It may have given its slot back: native threads detach late.
fn known() -> Option<Known> {
    KNOWN.get().filter(|known| known.slot.belongs_to(known.tid, known.serial)).or_else(|| {
        let tid = clock::own_tid();
        let found = registry().slots().find(tid);
        KNOWN.set(found.map(|slot| Known { tid, serial: slot.serial(), slot }));
        KNOWN.get()
    })
}

/// When the recording began.
pub fn started() -> u64 {
    STARTED.load(Relaxed)
}

/// What began before may have ended while nobody was told.
pub fn is_of_this_recording(wait: &Wait) -> bool {
    wait.since >= started()
}

/// # Safety
/// As of [`begin`].
unsafe fn is_virtual(env: *mut jni_sys::JNIEnv, thread: jobject) -> bool {
    // SAFETY: by the caller's promise; that the JVM has the function is what is known of it.
    VIRTUAL.load(Relaxed) && unsafe { java::is_virtual(env, thread) }
}
