//! A request from code outside of signals to walk one thread now, inside a signal.
//!
//! The agent opens the gate for one [`WalkRequest`], signals the thread and waits for the answer.
//! The kernel keeps only one of several pending signals, so any SIGPROF that reaches the thread
//! serves the request. A request is served once. If no request is open, it must cost a sample no
//! more than one load.

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use vouch_sample::{Answer, Cut, answer_from_number, answer_to_number};
use vouch_unwind::guard;
use vouch_unwind::walker::{Room, Subject, Walker};

use crate::gate::Gate;
use crate::sample_layout::{decode_cut, encode_cut};
use crate::slots::Slot;

/// The gate through which handlers borrow the walk request. At most one is open.
pub static WALK_REQUEST: Gate<WalkRequest> = Gate::new();

const OPEN: u32 = 0;
const TAKEN: u32 = 1;
const ANSWERED: u32 = 2;

/// A request to walk a thread, with a buffer for the result.
#[derive(Debug)]
pub struct WalkRequest {
    tid: u32,
    slot: &'static Slot,
    walker: &'static dyn Walker,
    env: *mut c_void,
    room: Room,
    /// The walker's answer, encoded by [`answer_to_number`].
    answer: AtomicI32,
    /// The cut of the stack, encoded by [`encode_cut`].
    cut: AtomicU64,
    state: AtomicU32,
    answered: *mut libc::sem_t,
}

// SAFETY: the fields that are not atomic are written before the gate opens. Only the one handler
// that took the request uses the buffer, until it stores `ANSWERED`.
unsafe impl Sync for WalkRequest {}

impl WalkRequest {
    /// Makes a request to walk the thread `tid`.
    ///
    /// # Safety
    /// Until the gate is closed and found empty, `slot` must be that thread's slot and `env` its
    /// JNIEnv. The buffer must be as large as `room` says, and nothing else may use it in that
    /// time. The semaphore `answered` must live as long. It is posted once there is an answer.
    pub unsafe fn new(
        tid: u32,
        slot: &'static Slot,
        walker: &'static dyn Walker,
        env: *mut c_void,
        room: Room,
        answered: *mut libc::sem_t,
    ) -> Self {
        let (answer, cut, state) = (AtomicI32::new(0), AtomicU64::new(0), AtomicU32::new(OPEN));
        Self { tid, slot, walker, env, room, answer, cut, state, answered }
    }

    /// Returns the walker's answer and the cut of the stack. It is `None` until a handler has
    /// served the request.
    pub fn answer(&self) -> Option<(Answer, Option<Cut>)> {
        let load = || {
            (
                answer_from_number(self.answer.load(Ordering::Relaxed)),
                decode_cut(self.cut.load(Ordering::Relaxed)),
            )
        };
        (self.state.load(Ordering::Acquire) == ANSWERED).then(load)
    }

    /// Walks the calling thread, if the request is about this thread and no handler has taken it
    /// yet.
    fn walk(&self, tid: u32, context: *mut c_void) {
        let is_taken = self.tid == tid
            && self.state.compare_exchange(OPEN, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !is_taken {
            return;
        }
        let info = Cell::default();
        let subject = Subject::interrupted(self.env, context, &info, self.slot.walking());
        // SAFETY: the caller of `new` promised slot, JNIEnv and buffer. `context` is what the
        // kernel passed to this thread's handler.
        let answer = unsafe { guard::walk(self.walker, &subject, self.room) };
        self.answer.store(answer_to_number(answer), Ordering::Relaxed);
        self.cut.store(encode_cut(info.get().cut), Ordering::Relaxed);
        self.state.store(ANSWERED, Ordering::Release);
        // SAFETY: the caller of `new` promised that the semaphore lives. sem_post is
        // async-signal-safe.
        unsafe { libc::sem_post(self.answered) };
    }
}

/// Serves the open walk request, if it is about the interrupted thread.
#[inline]
pub(crate) fn serve(tid: impl FnOnce() -> u32, context: *mut c_void) {
    if !WALK_REQUEST.is_open() {
        return;
    }
    let Some(entered) = WALK_REQUEST.enter() else { return };
    // SAFETY: the agent keeps an open request alive until the gate is closed and empty.
    unsafe { &*entered.value() }.walk(tid(), context);
}
