//! The rendezvous of a witnessed thread and the agent. The thread waits in its handler until the
//! JVM is certain to stop it at the next safepoint poll.
//!
//! The thread posts itself here and wakes the agent. The agent announces its call of GetStackTrace,
//! and makes the call. The thread checks whether the call has begun: an operation on the
//! requester's stack is in the queue of the thread's handshakes, and the thread's poll is armed.
//! Then the thread cannot pass its next safepoint poll. One thread waits at a time.
//!
//! A thread must never wait longer than [`MAX_WAIT_NS`], whatever the agent does. An uncertain sign
//! is no proof: what the thread does not see is reported as not seen.
//!
//! # Invariants
//!
//! **Invariant 18.** A handler sleeps for a witness alone, and for 400 µs in all. What it does not
//! see does not count as seen. Held by: this module's tests.

use core::ffi::c_void;
use core::ptr::null;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use vouch_unwind::context::Registers;
use vouch_unwind::kernel::{clock, peek};

/// The maximal number of frames of a stack that is compared with GetStackTrace. The JVM takes about
/// 4 KiB for each frame while it reads the stack.
pub const MAX_WITNESSED_DEPTH: usize = 4_096;
/// The maximal time that a handler waits for the JVM's request to stop, in nanoseconds of wall
/// time.
pub const MAX_WAIT_NS: u64 = 400_000;
/// The number of checks without a pause after the agent's announcement. Later checks are `PAUSE_NS`
/// apart.
const MAX_SPINS: u32 = 64;
const PAUSE_NS: u64 = 20_000;

/// The maximal number of words of a JavaThread that may be the queue of its handshakes.
pub const MAX_HANDSHAKE_QUEUES: usize = 4;
/// The value of a JavaThread's armed poll word, on every JVM that has a poll word for each thread.
const ARMED: usize = 1;
/// The number of words of a handshake queue's node that are checked: the operation, and the next
/// node.
const NODE_WORDS: usize = 2;

/// The offsets in a JavaThread, in bytes, of the fields that show that the thread will stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollOffsets {
    /// The offset of the JNIEnv in a JavaThread.
    pub env: usize,
    /// The offset of the poll word in a JavaThread.
    pub word: usize,
    /// The offsets of words of a JavaThread that may be the queue of handshakes. The list ends with
    /// 0.
    pub queues: [usize; MAX_HANDSHAKE_QUEUES],
}

/// A thread that waits in its handler, and where it was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostedThread {
    pub tid: u32,
    pub serial: u32,
    /// The time of the sample that the thread took.
    pub time: u64,
    pub at: Registers,
}

/// The bits of the rendezvous's state that are the phase of a round. The other bits are the round's
/// number, so that a late thread cannot change the next round.
const PHASE_MASK: u32 = 0b111;
const EMPTY: u32 = 0;
/// The phase in which the thread is writing its fields.
const POSTING: u32 = 1;
const POSTED: u32 = 2;
const ASKED: u32 = 3;
/// The phase in which the thread has seen that it will stop, and no longer waits.
const WILL_STOP: u32 = 4;

/// The rendezvous of one thread with the agent, before GetStackTrace of that thread is called.
#[derive(Debug)]
pub struct WitnessRendezvous {
    /// The offsets of the fields that the thread checks. With `None` it could check nothing, so no
    /// thread waits.
    polls: Option<PollOffsets>,
    /// The number and the phase of the present round. Both sides use this word as a futex.
    state: AtomicU32,
    tid: AtomicU32,
    serial: AtomicU32,
    time: AtomicU64,
    pc: AtomicUsize,
    sp: AtomicUsize,
    fp: AtomicUsize,
    /// The bounds of the stack of the thread that calls GetStackTrace.
    lowest: AtomicUsize,
    highest: AtomicUsize,
    /// The time that the last thread waited, in nanoseconds.
    waited_ns: AtomicU64,
}

impl WitnessRendezvous {
    #[must_use]
    pub fn new(polls: Option<PollOffsets>) -> Self {
        Self {
            polls,
            state: AtomicU32::new(EMPTY),
            tid: AtomicU32::new(0),
            serial: AtomicU32::new(0),
            time: AtomicU64::new(0),
            pc: AtomicUsize::new(0),
            sp: AtomicUsize::new(0),
            fp: AtomicUsize::new(0),
            lowest: AtomicUsize::new(0),
            highest: AtomicUsize::new(0),
            waited_ns: AtomicU64::new(0),
        }
    }

    /// Waits until the JVM has asked the thread to stop, the agent has finished, or the time limit
    /// is reached. Only the thread that this round is about may call it.
    ///
    /// # Safety
    /// `env` must be the calling thread's own JNIEnv.
    pub(crate) unsafe fn wait(&self, round: u32, env: *const c_void) {
        let Some(polls) = &self.polls else { return };
        let begun = now();
        let (until, mut spins) = (begun.saturating_add(MAX_WAIT_NS), 0);
        loop {
            let state = self.state.load(Ordering::Acquire);
            let asked = state == round | ASKED;
            if !asked && state != round | POSTED {
                // The agent already has its answer.
                break;
            }
            // SAFETY: the caller promised that `env` is the calling thread's own JNIEnv.
            let outcome = if asked && unsafe { self.will_stop(polls, env) } {
                round | WILL_STOP
            } else if now() >= until {
                next(round)
            } else {
                spins += u32::from(asked);
                match (asked, spins < MAX_SPINS) {
                    (true, true) => core::hint::spin_loop(),
                    (true, false) => self.sleep(state, until.min(now().saturating_add(PAUSE_NS))),
                    (false, _) => self.sleep(state, until),
                }
                continue;
            };
            if self.change(state, outcome) {
                break;
            }
        }
        self.waited_ns.store(now().saturating_sub(begun), Ordering::Relaxed);
    }

    /// Posts the thread that will wait, and returns the number of the round. The result is `None`
    /// if another thread is posted, or if there is nothing to check.
    pub(crate) fn post(&self, post: &PostedThread) -> Option<u32> {
        self.polls?;
        let state = self.state.load(Ordering::Acquire);
        let round = state & !PHASE_MASK;
        if state != round | EMPTY || !self.change(state, round | POSTING) {
            return None;
        }
        self.tid.store(post.tid, Ordering::Relaxed);
        self.serial.store(post.serial, Ordering::Relaxed);
        self.time.store(post.time, Ordering::Relaxed);
        self.pc.store(post.at.pc, Ordering::Relaxed);
        self.sp.store(post.at.sp, Ordering::Relaxed);
        self.fp.store(post.at.fp, Ordering::Relaxed);
        self.change(round | POSTING, round | POSTED).then_some(round)
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// True if the calling thread will stop: the requester's operation is in its queue of
    /// handshakes, and its poll is armed.
    ///
    /// # Safety
    /// `env` must be the calling thread's own JNIEnv.
    unsafe fn will_stop(&self, polls: &PollOffsets, env: *const c_void) -> bool {
        let java_thread = (env as usize).wrapping_sub(polls.env);
        // SAFETY: the JavaThread is the calling thread's own and has these offsets. Other threads
        // write these words atomically.
        let word = |offset: usize| unsafe {
            (*(java_thread.wrapping_add(offset) as *const AtomicUsize)).load(Ordering::Acquire)
        };
        let requester = self.lowest.load(Ordering::Relaxed)..self.highest.load(Ordering::Relaxed);
        word(polls.word) == ARMED
            && polls.queues.iter().filter(|queue| **queue != 0).any(|queue| {
                let node = word(*queue);
                // A queued operation stays while the thread runs Java. Otherwise it may be freed,
                // so it is read through the kernel.
                node != 0
                    && peek::<NODE_WORDS>(node)
                        .is_some_and(|words| words.iter().any(|it| requester.contains(it)))
            })
    }

    /// Sleeps until the rendezvous's state changes, or until this time of CLOCK_MONOTONIC.
    fn sleep(&self, state: u32, until: u64) {
        let until = libc::timespec {
            tv_sec: (until / 1_000_000_000).cast_signed(),
            tv_nsec: (until % 1_000_000_000).cast_signed(),
        };
        // SAFETY: the futex is this word. FUTEX_WAIT_BITSET takes an absolute time of
        // CLOCK_MONOTONIC.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.state.as_ptr(),
                libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
                state,
                &raw const until,
                null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            );
        }
    }

    /// Sets the bounds of the stack of the thread that calls GetStackTrace.
    pub fn set_requester_stack(&self, stack: &core::ops::Range<usize>) {
        self.lowest.store(stack.start, Ordering::Relaxed);
        self.highest.store(stack.end, Ordering::Relaxed);
    }

    /// Returns the thread that waits in its handler now.
    pub fn posted(&self) -> Option<PostedThread> {
        (self.state.load(Ordering::Acquire) & PHASE_MASK == POSTED).then(|| PostedThread {
            tid: self.tid.load(Ordering::Relaxed),
            serial: self.serial.load(Ordering::Relaxed),
            time: self.time.load(Ordering::Relaxed),
            at: Registers {
                pc: self.pc.load(Ordering::Relaxed),
                sp: self.sp.load(Ordering::Relaxed),
                fp: self.fp.load(Ordering::Relaxed),
            },
        })
    }

    /// Announces to the waiting thread that GetStackTrace is called now. The result is false if the
    /// thread no longer waits.
    pub fn announce_request(&self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        let asked = state & PHASE_MASK == POSTED && self.change(state, state & !PHASE_MASK | ASKED);
        if asked {
            self.wake();
        }
        asked
    }

    /// Ends the round, so that a waiting thread returns from its handler. True if the thread had
    /// seen that it would stop.
    pub fn end_round(&self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        let state = self.state.swap(next(state), Ordering::AcqRel);
        self.wake();
        state & PHASE_MASK == WILL_STOP
    }

    /// Returns how long the last thread waited, in nanoseconds, and sets that to 0.
    pub fn take_waited_ns(&self) -> u64 {
        self.waited_ns.swap(0, Ordering::Relaxed)
    }

    fn wake(&self) {
        // SAFETY: the futex is this word, and FUTEX_WAKE writes nothing.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.state.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                1,
            );
        }
    }
}

/// Returns the empty state of the next round.
fn next(state: u32) -> u32 {
    (state & !PHASE_MASK).wrapping_add(PHASE_MASK + 1)
}

fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::thread;
    use std::time::{Duration, Instant};

    const POST: PostedThread =
        PostedThread { tid: 7, serial: 3, time: 99, at: Registers { pc: 1, sp: 2, fp: 3 } };
    const POLLS: PollOffsets = PollOffsets { env: 0, word: 8, queues: [16, 24, 0, 0] };
    /// The bounds of the stack of the simulated thread that calls GetStackTrace.
    const STACK: core::ops::Range<usize> = 0x1000..0x2000;

    /// A simulated JavaThread and a node of its queue of handshakes. The first word of the thread
    /// is its JNIEnv.
    struct Jvm {
        java_thread: [AtomicUsize; 4],
        node: [usize; NODE_WORDS],
        rendezvous: WitnessRendezvous,
    }

    impl Jvm {
        fn new(operation: usize) -> Self {
            let rendezvous = WitnessRendezvous::new(Some(POLLS));
            rendezvous.set_requester_stack(&STACK);
            Self { java_thread: Default::default(), node: [0, operation], rendezvous }
        }

        /// Posts a thread, calls `before`, and lets the thread wait while `meanwhile` runs. Returns
        /// how long the thread waited.
        fn wait(&self, before: impl FnOnce(&Self), meanwhile: impl FnOnce(&Self)) -> Duration {
            let posted = self.rendezvous.post(&POST);
            before(self);
            thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    let begun = Instant::now();
                    if let Some(round) = posted {
                        // SAFETY: `java_thread` has all offsets of POLLS.
                        unsafe { self.rendezvous.wait(round, self.java_thread.as_ptr().cast()) };
                    }
                    begun.elapsed()
                });
                meanwhile(self);
                waiting.join().unwrap()
            })
        }

        fn asked(&self) {
            assert_eq!(self.rendezvous.posted(), Some(POST));
            assert!(self.rendezvous.announce_request());
        }

        fn queue(&self, node: usize) {
            self.java_thread[3].store(node, Ordering::Release);
        }

        fn arm(&self) {
            self.java_thread[1].store(ARMED, Ordering::Release);
        }
    }

    #[test]
    fn a_thread_leaves_once_it_sees_that_it_will_stop() {
        let jvm = Jvm::new(0x1800);
        let before = |jvm: &Jvm| {
            jvm.asked();
            jvm.queue(jvm.node.as_ptr() as usize);
            jvm.arm();
        };
        jvm.wait(before, |_| ());
        assert!(jvm.rendezvous.end_round());
        assert!(jvm.rendezvous.take_waited_ns() > 0);
        assert_eq!((jvm.rendezvous.take_waited_ns(), jvm.rendezvous.posted()), (0, None));
    }

    #[test]
    fn an_unseen_sign_is_no_proof() {
        let foreign = 0x2800;
        for (operation, queued, armed) in
            [(foreign, true, true), (0x1800, true, false), (0x1800, false, true), (0x1800, false, false)]
        {
            let jvm = Jvm::new(operation);
            let before = |jvm: &Jvm| {
                jvm.asked();
                if queued {
                    jvm.queue(jvm.node.as_ptr() as usize);
                }
                if armed {
                    jvm.arm();
                }
            };
            jvm.wait(before, |_| ());
            assert!(!jvm.rendezvous.end_round(), "operation {operation:#x}, queued {queued}, armed {armed}");
        }
        let nowhere = Jvm::new(0x1800);
        let before = |jvm: &Jvm| {
            jvm.asked();
            jvm.queue(8);
            jvm.arm();
        };
        nowhere.wait(before, |_| ());
        assert!(!nowhere.rendezvous.end_round(), "a queue that does not exist");
    }

    #[test]
    fn a_thread_waits_no_longer_than_the_limit() {
        for asks in [false, true] {
            let jvm = Jvm::new(0x1800);
            let before = |jvm: &Jvm| {
                if asks {
                    jvm.asked();
                }
            };
            let waited = jvm.wait(before, |_| ());
            assert!(waited >= Duration::from_nanos(MAX_WAIT_NS), "{waited:?}");
            assert!(!jvm.rendezvous.announce_request(), "the thread is gone");
            assert!(!jvm.rendezvous.end_round());
        }
        // A thread that could check nothing does not wait.
        let blind = Jvm { rendezvous: WitnessRendezvous::new(None), ..Jvm::new(0x1800) };
        blind.wait(|jvm| assert_eq!(jvm.rendezvous.posted(), None), |_| ());
        assert_eq!(blind.rendezvous.take_waited_ns(), 0);
    }

    #[test]
    fn the_end_of_a_round_lets_the_thread_leave() {
        let jvm = Jvm::new(0x1800);
        // On a busy machine some waits may reach the limit, but not all.
        let waited = (0..50).map(|_| {
            jvm.wait(Jvm::asked, |jvm| {
                jvm.rendezvous.end_round();
            })
        });
        assert!(waited.min() < Some(Duration::from_nanos(MAX_WAIT_NS)));
    }

    #[test]
    fn a_late_thread_cannot_change_the_next_round() {
        let jvm = Jvm::new(0x1800);
        let round = jvm.rendezvous.post(&POST).unwrap();
        assert_eq!(jvm.rendezvous.post(&PostedThread { tid: 8, ..POST }), None);
        assert_eq!(jvm.rendezvous.posted(), Some(POST));
        assert!(jvm.rendezvous.announce_request() && !jvm.rendezvous.end_round());
        let next = jvm.rendezvous.post(&POST).unwrap();
        assert!(
            jvm.rendezvous.announce_request() && !jvm.rendezvous.change(round | ASKED, round | WILL_STOP)
        );
        assert!(jvm.rendezvous.change(next | ASKED, next | WILL_STOP) && jvm.rendezvous.end_round());
        // A round that ends while a thread posts itself does not have that thread.
        let late = jvm.rendezvous.state.load(Ordering::Acquire);
        assert!(jvm.rendezvous.change(late, late | POSTING) && !jvm.rendezvous.end_round());
        assert!(!jvm.rendezvous.change(late | POSTING, late | POSTED));
    }
}
