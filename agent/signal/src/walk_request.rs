//! A single question from normal context: walk this one thread, now, from inside a signal.
//!
//! The agent opens the gate for one [`Ask`], signals the thread that it is about, and waits for the
//! answer. Whatever SIGPROF reaches the thread first answers, since the kernel keeps only one of
//! several that are pending. A question is answered once. It must cost a sample that nobody asks
//! about no more than one load.

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use vouch_sample::{Answer, Cut, answer_of, number_of};
use vouch_walk::guard;
use vouch_walk::walker::{Room, Subject, Walker};

use crate::gate::Gate;
use crate::sample_layout::{cut_of, word_of};
use crate::slots::Slot;

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
    walker: &'static dyn Walker,
    env: *mut c_void,
    room: Room,
    /// The answer, as a number.
    told: AtomicI32,
    /// Where the stack is cut, as a word.
    cut: AtomicU64,
    state: AtomicU32,
    answered: *mut libc::sem_t,
}

// SAFETY: what is not atomic is written before the gate opens; the room is used by the one handler
// that took the question, until it has answered.
unsafe impl Sync for Ask {}

impl Ask {
    /// A question about thread `tid`.
    ///
    /// # Safety
    /// `slot` must be that thread's, and `env` its JNIEnv, and stay so until the question is
    /// closed; `room` must be as large as it says, and nobody else may use it until the gate was
    /// closed and found empty. Until then the semaphore `answered` must live, which is posted once
    /// there is an answer.
    pub unsafe fn new(
        tid: u32,
        slot: &'static Slot,
        walker: &'static dyn Walker,
        env: *mut c_void,
        room: Room,
        answered: *mut libc::sem_t,
    ) -> Self {
        let (told, cut, state) = (AtomicI32::new(0), AtomicU64::new(0), AtomicU32::new(OPEN));
        Self { tid, slot, walker, env, room, told, cut, state, answered }
    }

    /// The walker's answer, once there is one, and where the stack is cut.
    pub fn answer(&self) -> Option<(Answer, Option<Cut>)> {
        let load =
            || (answer_of(self.told.load(Ordering::Relaxed)), cut_of(self.cut.load(Ordering::Relaxed)));
        (self.state.load(Ordering::Acquire) == ANSWERED).then(load)
    }

    /// Walks, if the question is about the calling thread and nobody has answered it.
    fn walk(&self, tid: u32, context: *mut c_void) {
        let mine = self.tid == tid
            && self.state.compare_exchange(OPEN, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !mine {
            return;
        }
        let told = Cell::default();
        let subject = Subject::interrupted(self.env, context, &told, self.slot.walking());
        // SAFETY: by the promise made to `new`; `context` is the kernel's, of this thread.
        let answer = unsafe { guard::walk(self.walker, &subject, self.room) };
        self.told.store(number_of(answer), Ordering::Relaxed);
        self.cut.store(word_of(told.get().cut), Ordering::Relaxed);
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
