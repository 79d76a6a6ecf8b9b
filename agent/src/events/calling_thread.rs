//! Records the stack and the waits of the calling thread, in a callback of the JVM or a native
//! method of Vouch's Java library.
//!
//! GetStackTrace of the calling thread is exact. A callback must stay short, so the outermost
//! frames of a deep stack are left out.
//!
//! Thread-local data may be destroyed before the thread's last callback, because native threads
//! detach late.

use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::jobject;
use vouch_collect::readable;
use vouch_sample::Frame;
use vouch_sampling::clock;
use vouch_sampling::own_thread;
use vouch_sampling::threads::registry;
use vouch_signal::event::MAX_EVENT_FRAMES;
use vouch_signal::slots::{Slot, Wait};

use crate::facade::{Jvmti, StackFrame};
use crate::java;

/// The capacity, in frames, that a thread keeps for the stack of its next event.
const KEPT_FRAMES: usize = 256;

/// The limit for GetStackTrace, in frames. It is one more than is kept, so that a cut stack is
/// recognized.
static MAX_STACK_FRAMES: AtomicUsize = AtomicUsize::new(0);
/// The time in ns at which the recording began. The end of an earlier wait may have been missed.
static STARTED: AtomicU64 = AtomicU64::new(0);
/// True if the JVM may have virtual threads.
static VIRTUAL: AtomicBool = AtomicBool::new(false);

/// The calling thread and its slot, which are looked up once.
#[derive(Clone, Copy)]
struct Known {
    tid: u32,
    serial: u32,
    slot: &'static Slot,
}

thread_local! {
    static KNOWN: Cell<Option<Known>> = const { Cell::new(None) };
    static BUFFERS: RefCell<(Vec<StackFrame>, Vec<Frame>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Begins a recording that keeps `depth` frames of a stack.
pub fn start(jvmti: Jvmti, depth: usize) {
    MAX_STACK_FRAMES.store(depth.min(MAX_EVENT_FRAMES) + 1, Relaxed);
    VIRTUAL.store(jvmti.jdk().is_some_and(|jdk| jdk >= 21), Relaxed);
    STARTED.store(clock::monotonic(), Relaxed);
}

/// Returns the kernel's id of the calling thread, and its serial. The serial is 0 if the thread has
/// none.
pub fn own() -> (u32, u32) {
    known().map_or_else(|| (clock::own_tid(), 0), |known| (known.tid, known.serial))
}

/// Calls `take` with the calling thread's stack, leaf first. The stack is empty if JVMTI returns
/// none, as at the end of a thread.
pub fn with_stack<T>(take: impl FnOnce(&[Frame]) -> T) -> T {
    let buffers = BUFFERS.try_with(RefCell::take).unwrap_or_default();
    let (mut theirs, mut frames) = buffers;
    let found = Jvmti::current()
        .and_then(|jvmti| jvmti.stack_trace(null_mut(), &mut theirs, MAX_STACK_FRAMES.load(Relaxed)).ok());
    frames.clear();
    frames.extend(theirs.iter().take(found.unwrap_or(0)).map(|frame| frame.frame()));
    let taken = take(&frames);
    theirs.truncate(KEPT_FRAMES);
    theirs.shrink_to(KEPT_FRAMES);
    frames.shrink_to(KEPT_FRAMES);
    // It fails for a thread that exits, which needs no buffers.
    let _ = BUFFERS.try_with(|buffers| buffers.replace((theirs, frames)));
    taken
}

/// Returns the class of an object, as in source. It is empty if the JVM does not return it.
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

/// Returns the class of an object like [`class_of`], for a reference that is known to be valid.
pub fn class_of_object(object: &JObject<'_>, env: &JNIEnv<'_>) -> String {
    let class = env.get_object_class(object);
    java::cleared(env, class).map_or_else(String::new, |class| class_name(class.as_raw()))
}

/// Returns a class's name as in source.
pub fn class_name(class: jni_sys::jclass) -> String {
    let signature = Jvmti::current().and_then(|jvmti| jvmti.class_signature(class).ok());
    signature.map_or_else(String::new, |signature| readable::type_name(&signature))
}

/// Records that the calling thread begins to wait. `still` is the number of the row that shows the
/// wait if it is not over at the recording's end.
///
/// It ignores virtual threads, because they may begin a wait on one carrier and end it on another.
/// It also ignores the agent's own thread.
///
/// # Safety
/// `env` must be the calling thread's, and `thread` a reference that is valid there.
pub unsafe fn begin(env: *mut jni_sys::JNIEnv, thread: jobject, still: u64, note: impl FnOnce() -> u64) {
    // SAFETY: by the caller's promise.
    if !unsafe { is_virtual(env, thread) } {
        begin_here(still, note);
    }
}

/// Records a wait like [`begin`], for a thread that stays on its carrier until the wait is over.
pub fn begin_here(still: u64, note: impl FnOnce() -> u64) {
    if !own_thread::is_calling()
        && let Some(known) = known()
    {
        let since = clock::monotonic();
        known.slot.begin_wait(Wait { since, kind: still, note: note() });
    }
}

/// Ends the wait, and returns it. Returns `None` if the wait began before this recording, or was
/// ignored.
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

/// Ends a wait that began with [`begin_here`].
pub fn end_here() -> Option<Wait> {
    known()?.slot.end_wait().filter(is_of_this_recording)
}

/// Returns the calling thread, which is looked up once. Returns `None` if it has released its slot,
/// since native threads detach late.
fn known() -> Option<Known> {
    KNOWN.get().filter(|known| known.slot.belongs_to(known.tid, known.serial)).or_else(|| {
        let tid = clock::own_tid();
        let found = registry().slots().find(tid);
        KNOWN.set(found.map(|slot| Known { tid, serial: slot.serial(), slot }));
        KNOWN.get()
    })
}

/// Returns the time in ns at which the recording began.
pub fn started() -> u64 {
    STARTED.load(Relaxed)
}

/// Returns true if a wait began in this recording. The end of an earlier wait may have been missed.
pub fn is_of_this_recording(wait: &Wait) -> bool {
    wait.since >= started()
}

/// # Safety
/// As of [`begin`].
unsafe fn is_virtual(env: *mut jni_sys::JNIEnv, thread: jobject) -> bool {
    // SAFETY: by the caller's promise. A JVM with virtual threads has the function.
    VIRTUAL.load(Relaxed) && unsafe { java::is_virtual(env, thread) }
}
