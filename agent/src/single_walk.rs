//! Walks one thread once: by a direct call, or in the handler of a signal that the thread gets.
//!
//! `walkers` checks our own walker with it. The truth lab compares walkers with GetStackTrace.

use std::cell::Cell;
use std::ffi::c_void;
use std::time::Duration;

use vouch_sample::{Answer, Cut, Frame, Reason, Stack};
use vouch_sampling::clock;
use vouch_sampling::threads::signal;
use vouch_signal::slots::Slot;
use vouch_signal::walk_request::{WALK_REQUEST, WalkRequest};
use vouch_unwind::context::{current_registers, repair};
use vouch_unwind::guard::walk;
use vouch_unwind::walker::{RawFrame, Room, Subject, Walker};
use vouch_verify::witness::rules;

use crate::worker;

/// How long a thread may take to handle its signal. The limit is long because a machine can be
/// busy.
const PATIENCE: Duration = Duration::from_secs(2);

/// The walker's answer: frames, or the reason for a failure.
pub type Walked = Result<Found, Reason>;

/// A stack that a walk found.
#[derive(Debug)]
pub struct Found {
    pub frames: Vec<Frame>,
    pub cut: Option<Cut>,
}

impl Found {
    pub fn stack(&self) -> Stack<'_> {
        Stack { frames: &self.frames, cut: self.cut }
    }
}

/// A walker, and the slot and JNIEnv of the thread that it walks.
#[derive(Debug, Clone, Copy)]
pub struct SingleWalk {
    pub walker: &'static dyn Walker,
    pub slot: &'static Slot,
    pub env: *mut c_void,
}

impl SingleWalk {
    /// Calls the walker on the calling thread.
    ///
    /// # Safety
    /// Slot and JNIEnv must be the calling thread's.
    pub unsafe fn direct(self, room: &mut [RawFrame]) -> Walked {
        // SAFETY: all zero is a valid ucontext.
        let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
        let context = (&raw mut context).cast();
        // SAFETY: this is a ucontext, and no code restores it.
        unsafe { repair(context, current_registers()) };
        let told = Cell::default();
        let subject = Subject::interrupted(self.env, context, &told, self.slot.walking());
        // SAFETY: the context describes this thread in this function, which does not return
        // meanwhile. `room` has its stated count of frames. The caller promises the rest.
        let answer = unsafe { walk(self.walker, &subject, room_of(room)) };
        walked((answer, told.get().cut), room)
    }

    /// Makes thread `tid` walk itself in a signal handler. Returns `None` if the thread handles no
    /// signal.
    ///
    /// # Safety
    /// Slot and JNIEnv must be that thread's, and the thread must not end meanwhile.
    pub unsafe fn signalled(self, tid: u32, room: &mut [RawFrame]) -> Option<Walked> {
        let Self { walker, slot, env } = self;
        // The signal's handler is removed when the JVM dies.
        if !worker::is_running() {
            return None;
        }
        // SAFETY: all zero is a valid buffer for a semaphore. `sem_init` fills it.
        let mut answered: libc::sem_t = unsafe { std::mem::zeroed() };
        // SAFETY: the semaphore does not move until this function returns. Its count begins at 0,
        // within this process.
        unsafe { libc::sem_init(&raw mut answered, 0, 0) };
        let posted = &raw mut answered;
        // SAFETY: neither `room` nor the semaphore is touched until the gate is closed and empty.
        // The caller promises the rest.
        let ask = unsafe { WalkRequest::new(tid, slot, walker, env, room_of(room), posted) };
        let ask = Box::into_raw(Box::new(ask));
        WALK_REQUEST.open(ask);
        signal(tid);
        wait(&mut answered);
        WALK_REQUEST.close();
        // A late handler may still be writing. A handler that never returns would hang the thread
        // anyway.
        while !WALK_REQUEST.is_empty() {
            std::thread::yield_now();
        }
        // SAFETY: `Box::into_raw` made it above. The gate is closed and empty, so no handler has
        // it.
        let ask = unsafe { Box::from_raw(ask) };
        ask.answer().map(|answer| walked(answer, room))
    }
}

/// Waits until the semaphore is posted, or `PATIENCE` is over. It must sleep: the thread that
/// answers may need this processor.
fn wait(answered: &mut libc::sem_t) {
    let until = clock::from_now(PATIENCE);
    // SAFETY: the caller made the semaphore. A signal that interrupts the wait is no answer.
    while unsafe { libc::sem_timedwait(answered, &raw const until) } != 0
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
}

/// Splits the buffer. The last frame is reserved to detect a stack that is too deep.
fn room_of(room: &mut [RawFrame]) -> Room {
    let depth = room.len().saturating_sub(1);
    Room { frames: room.as_mut_ptr(), depth: i32::try_from(depth).unwrap_or(i32::MAX) }
}

fn walked((answer, cut): (Answer, Option<Cut>), room: &[RawFrame]) -> Walked {
    let frames = room.iter().take(answer? as usize);
    Ok(Found { frames: frames.map(|raw| rules::normalise_walk_frame((*raw).into())).collect(), cut })
}
