//! A single question from normal context: walk this one thread, now, from inside a signal.
//!
//! The agent opens the gate for one [`Ask`], signals the thread that it is about, and waits for the answer. Whatever
//! SIGPROF reaches the thread first answers, since the kernel keeps only one of several that are pending. A question is
//! answered once. It must cost a sample that nobody asks about no more than one load.

use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::gate::Gate;
use crate::guard;
use crate::slots::Slot;
use crate::walker::{AsyncGetCallTrace, CallTrace, Frame};

/// The gate of the one question that may be open.
pub static ASK: Gate<Ask> = Gate::new();

const OPEN: u32 = 0;
const TAKEN: u32 = 1;
const ANSWERED: u32 = 2;

/// A question, and room for its answer.
#[derive(Debug)]
pub struct Ask {
    tid: u32,
    slot: &'static Slot,
    walker: AsyncGetCallTrace,
    env: *mut c_void,
    depth: i32,
    frames: *mut Frame,
    count: AtomicI32,
    state: AtomicU32,
    answered: *mut libc::sem_t,
}

// SAFETY: what is not atomic is written before the gate opens; `frames` is used by the one handler that took the
// question, until it has answered.
unsafe impl Sync for Ask {}

impl Ask {
    /// A question about thread `tid`.
    ///
    /// # Safety
    /// `slot` must be that thread's, and `env` its JNIEnv, and stay so until the question is closed; `frames` must have room for
    /// `depth` frames, and nobody else may use them until the gate was closed and found empty. Until then the
    /// semaphore `answered` must live, which is posted once there is an answer.
    pub unsafe fn new(
        tid: u32,
        slot: &'static Slot,
        walker: AsyncGetCallTrace,
        env: *mut c_void,
        depth: i32,
        frames: *mut Frame,
        answered: *mut libc::sem_t,
    ) -> Self {
        let (count, state) = (AtomicI32::new(0), AtomicU32::new(OPEN));
        Self { tid, slot, walker, env, depth, frames, count, state, answered }
    }

    /// The walker's answer, once there is one: frames, or a code.
    pub fn answer(&self) -> Option<i32> {
        (self.state.load(Ordering::Acquire) == ANSWERED).then(|| self.count.load(Ordering::Relaxed))
    }

    /// Walks, if the question is about the calling thread and nobody has answered it.
    fn walk(&self, tid: u32, context: *mut c_void) {
        let mine = self.tid == tid
            && self.state.compare_exchange(OPEN, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !mine {
            return;
        }
        let mut trace = CallTrace { env: self.env, count: 0, frames: self.frames };
        // SAFETY: by the promise made to `new`; `context` is the kernel's, of this thread.
        let count = unsafe { guard::walk(self.slot, self.walker, &mut trace, self.depth, context) };
        self.count.store(count, Ordering::Relaxed);
        self.state.store(ANSWERED, Ordering::Release);
        // SAFETY: by the promise made to `new`; sem_post is async-signal-safe.
        unsafe { libc::sem_post(self.answered) };
    }
}

/// Answers the open question, if it is about the interrupted thread.
#[inline]
pub(crate) fn answer(tid: impl FnOnce() -> u32, context: *mut c_void) {
    if !ASK.is_open() {
        return;
    }
    let Some(entered) = ASK.enter() else { return };
    // SAFETY: the agent keeps a published question alive until the gate is closed and empty.
    unsafe { &*entered.value() }.walk(tid(), context);
}
