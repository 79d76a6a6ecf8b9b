//! How the handler of a sample that is to be witnessed stays until the JVM is told to stop its
//! thread at the next poll.
//!
//! The thread posts itself here and wakes the agent, which says that it asks, and asks. Before the
//! thread goes on it looks for itself: GetStackTrace has put an operation into the queue of this
//! thread's handshakes that lies on the asker's own stack, and the thread's poll is armed. So the
//! thread can go no further than to its next safepoint poll. One thread stays at a time. It must
//! never stay longer than [`LONGEST`], whatever the agent does, and take no clue for proof: what it
//! does not see is said not to be so.
//!
//! # Invariants
//!
//! **Invariant 18.** A handler sleeps for a witness alone, and for 400 µs in all. What it does not
//! see does not count as seen. Held by: this module's tests.

use core::ffi::c_void;
use core::ptr::null;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use vouch_walk::context::Registers;
use vouch_walk::kernel::{clock, peek};

/// Of a deeper stack no thread stays: the JVM takes some 4 KiB for each frame while it is asked.
pub const DEEPEST: usize = 4_096;
/// How long a handler stays at most, in nanoseconds of wall time.
pub const LONGEST: u64 = 400_000;
/// The agent has said that it asks: it is looked so often without a pause, which then are so long.
const LOOKS: u32 = 64;
const PAUSE: u64 = 20_000;

/// How many places there may be where a thread's handshakes could be queued.
pub const QUEUES: usize = 4;
/// What a thread's poll word is when it is armed, on every JVM that has one of its own for each
/// thread.
const ARMED: usize = 1;
/// How many words of a queue's node are looked at: the operation, and the next node.
const NODE_WORDS: usize = 2;

/// Where a JavaThread has what tells that it is to be stopped: offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polls {
    /// Of its JNIEnv.
    pub env: usize,
    /// Of the word that its polls look at.
    pub word: usize,
    /// Of what may be the queue of its handshakes; 0: there is none more.
    pub queues: [usize; QUEUES],
}

/// A thread that stays: who it is, and where it was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post {
    pub tid: u32,
    pub serial: u32,
    /// The sample's.
    pub time: u64,
    pub at: Registers,
}

/// What a round has come to. The round's number stands above: who is late must not speak in the
/// next one.
const PHASE: u32 = 0b111;
const NOBODY: u32 = 0;
/// A thread writes down who it is.
const COMING: u32 = 1;
const POSTED: u32 = 2;
const ASKED: u32 = 3;
/// It has seen that it will be stopped, and has gone.
const SEEN: u32 = 4;

/// The place where one thread stays.
#[derive(Debug)]
pub struct Stay {
    /// `None`: nobody can see what it needs to see, so nobody stays.
    polls: Option<Polls>,
    /// Also what both sides sleep at.
    state: AtomicU32,
    tid: AtomicU32,
    serial: AtomicU32,
    time: AtomicU64,
    pc: AtomicUsize,
    sp: AtomicUsize,
    fp: AtomicUsize,
    /// The asker's stack.
    lowest: AtomicUsize,
    highest: AtomicUsize,
    /// For how long the last one stayed.
    stayed: AtomicU64,
}

impl Stay {
    #[must_use]
    pub fn new(polls: Option<Polls>) -> Self {
        Self {
            polls,
            state: AtomicU32::new(NOBODY),
            tid: AtomicU32::new(0),
            serial: AtomicU32::new(0),
            time: AtomicU64::new(0),
            pc: AtomicUsize::new(0),
            sp: AtomicUsize::new(0),
            fp: AtomicUsize::new(0),
            lowest: AtomicUsize::new(0),
            highest: AtomicUsize::new(0),
            stayed: AtomicU64::new(0),
        }
    }

    /// The thread that was posted in this round stays until it is known that it will be stopped,
    /// the agent has done, or it takes too long.
    ///
    /// # Safety
    /// `env` must be the calling thread's own JNIEnv.
    pub(crate) unsafe fn stay(&self, round: u32, env: *const c_void) {
        let Some(polls) = &self.polls else { return };
        let begun = now();
        let (until, mut looks) = (begun.saturating_add(LONGEST), 0);
        loop {
            let state = self.state.load(Ordering::Acquire);
            let asked = state == round | ASKED;
            if !asked && state != round | POSTED {
                // The agent has its answer already.
                break;
            }
            // SAFETY: by the caller's promise.
            let outcome = if asked && unsafe { self.will_stop(polls, env) } {
                round | SEEN
            } else if now() >= until {
                next(round)
            } else {
                looks += u32::from(asked);
                match (asked, looks < LOOKS) {
                    (true, true) => core::hint::spin_loop(),
                    (true, false) => self.sleep(state, until.min(now().saturating_add(PAUSE))),
                    (false, _) => self.sleep(state, until),
                }
                continue;
            };
            if self.change(state, outcome) {
                break;
            }
        }
        self.stayed.store(now().saturating_sub(begun), Ordering::Relaxed);
    }

    /// Writes down who will stay; gives the round, unless somebody else is there, or nobody could
    /// see what it needs to see.
    pub(crate) fn post(&self, post: &Post) -> Option<u32> {
        self.polls?;
        let state = self.state.load(Ordering::Acquire);
        let round = state & !PHASE;
        if state != round | NOBODY || !self.change(state, round | COMING) {
            return None;
        }
        self.tid.store(post.tid, Ordering::Relaxed);
        self.serial.store(post.serial, Ordering::Relaxed);
        self.time.store(post.time, Ordering::Relaxed);
        self.pc.store(post.at.pc, Ordering::Relaxed);
        self.sp.store(post.at.sp, Ordering::Relaxed);
        self.fp.store(post.at.fp, Ordering::Relaxed);
        self.change(round | COMING, round | POSTED).then_some(round)
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// True if the asker's operation is queued for the calling thread, and its poll armed.
    ///
    /// # Safety
    /// `env` must be the calling thread's own JNIEnv.
    unsafe fn will_stop(&self, polls: &Polls, env: *const c_void) -> bool {
        let java_thread = (env as usize).wrapping_sub(polls.env);
        // SAFETY: the JavaThread is the calling thread's own, and larger than these offsets; other
        // threads write these words atomically.
        let word = |offset: usize| unsafe {
            (*(java_thread.wrapping_add(offset) as *const AtomicUsize)).load(Ordering::Acquire)
        };
        let asker = self.lowest.load(Ordering::Relaxed)..self.highest.load(Ordering::Relaxed);
        word(polls.word) == ARMED
            && polls.queues.iter().filter(|queue| **queue != 0).any(|queue| {
                let node = word(*queue);
                // What is queued stays while the thread runs Java; else it may be gone, so the
                // kernel reads it.
                node != 0
                    && peek::<NODE_WORDS>(node).is_some_and(|words| words.iter().any(|it| asker.contains(it)))
            })
    }

    /// Sleeps until the state is another, or that time has come.
    fn sleep(&self, state: u32, until: u64) {
        let until = libc::timespec {
            tv_sec: (until / 1_000_000_000).cast_signed(),
            tv_nsec: (until % 1_000_000_000).cast_signed(),
        };
        // SAFETY: the futex is this word; the bitset form takes an absolute time of
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

    /// Says between which addresses the stack of the thread lies that asks.
    pub fn set_asker(&self, stack: &core::ops::Range<usize>) {
        self.lowest.store(stack.start, Ordering::Relaxed);
        self.highest.store(stack.end, Ordering::Relaxed);
    }

    /// The thread that stays now.
    pub fn posted(&self) -> Option<Post> {
        (self.state.load(Ordering::Acquire) & PHASE == POSTED).then(|| Post {
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

    /// The agent asks now; false if the thread has not stayed so long.
    pub fn ask(&self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        let asked = state & PHASE == POSTED && self.change(state, state & !PHASE | ASKED);
        if asked {
            self.rouse();
        }
        asked
    }

    /// The agent has done, or wants another one: whoever is still here goes. True if the thread
    /// saw, before it went on, that it would be stopped.
    pub fn end(&self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        let state = self.state.swap(next(state), Ordering::AcqRel);
        self.rouse();
        state & PHASE == SEEN
    }

    /// For how long the last one stayed, in nanoseconds. It counts once.
    pub fn stayed(&self) -> u64 {
        self.stayed.swap(0, Ordering::Relaxed)
    }

    fn rouse(&self) {
        // SAFETY: the futex is this word; nothing is written.
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

/// The round after that of this state: nobody is there.
fn next(state: u32) -> u32 {
    (state & !PHASE).wrapping_add(PHASE + 1)
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

    const POST: Post = Post { tid: 7, serial: 3, time: 99, at: Registers { pc: 1, sp: 2, fp: 3 } };
    const POLLS: Polls = Polls { env: 0, word: 8, queues: [16, 24, 0, 0] };
    /// The asker's stack.
    const STACK: core::ops::Range<usize> = 0x1000..0x2000;

    /// What a handler sees of a JVM: a JavaThread whose first word its JNIEnv points to, and a node
    /// of its queue.
    struct Jvm {
        java_thread: [AtomicUsize; 4],
        node: [usize; NODE_WORDS],
        stay: Stay,
    }

    impl Jvm {
        fn new(operation: usize) -> Self {
            let stay = Stay::new(Some(POLLS));
            stay.set_asker(&STACK);
            Self { java_thread: Default::default(), node: [0, operation], stay }
        }

        /// A thread is posted, the agent does something, the thread stays, and meanwhile the agent
        /// does something else; how long it stayed.
        fn stay(&self, before: impl FnOnce(&Self), meanwhile: impl FnOnce(&Self)) -> Duration {
            let posted = self.stay.post(&POST);
            before(self);
            thread::scope(|scope| {
                let stays = scope.spawn(|| {
                    let begun = Instant::now();
                    if let Some(round) = posted {
                        // SAFETY: these words are what the offsets in POLLS are of.
                        unsafe { self.stay.stay(round, self.java_thread.as_ptr().cast()) };
                    }
                    begun.elapsed()
                });
                meanwhile(self);
                stays.join().unwrap()
            })
        }

        fn asked(&self) {
            assert_eq!(self.stay.posted(), Some(POST));
            assert!(self.stay.ask());
        }

        fn queue(&self, node: usize) {
            self.java_thread[3].store(node, Ordering::Release);
        }

        fn arm(&self) {
            self.java_thread[1].store(ARMED, Ordering::Release);
        }
    }

    #[test]
    fn a_thread_goes_on_when_it_sees_that_it_will_be_stopped() {
        let jvm = Jvm::new(0x1800);
        let told = |jvm: &Jvm| {
            jvm.asked();
            jvm.queue(jvm.node.as_ptr() as usize);
            jvm.arm();
        };
        jvm.stay(told, |_| ());
        assert!(jvm.stay.end());
        assert!(jvm.stay.stayed() > 0);
        assert_eq!((jvm.stay.stayed(), jvm.stay.posted()), (0, None));
    }

    #[test]
    fn what_it_does_not_see_is_not_so() {
        let foreign = 0x2800;
        for (operation, queued, armed) in
            [(foreign, true, true), (0x1800, true, false), (0x1800, false, true), (0x1800, false, false)]
        {
            let jvm = Jvm::new(operation);
            let told = |jvm: &Jvm| {
                jvm.asked();
                if queued {
                    jvm.queue(jvm.node.as_ptr() as usize);
                }
                if armed {
                    jvm.arm();
                }
            };
            jvm.stay(told, |_| ());
            assert!(!jvm.stay.end(), "operation {operation:#x}, queued {queued}, armed {armed}");
        }
        let nowhere = Jvm::new(0x1800);
        let told = |jvm: &Jvm| {
            jvm.asked();
            jvm.queue(8);
            jvm.arm();
        };
        nowhere.stay(told, |_| ());
        assert!(!nowhere.stay.end(), "a queue that is none");
    }

    #[test]
    fn nobody_stays_for_an_agent_that_does_nothing() {
        for asks in [false, true] {
            let jvm = Jvm::new(0x1800);
            let told = |jvm: &Jvm| {
                if asks {
                    jvm.asked();
                }
            };
            let stayed = jvm.stay(told, |_| ());
            assert!(stayed >= Duration::from_nanos(LONGEST), "{stayed:?}");
            assert!(!jvm.stay.ask(), "the thread is gone");
            assert!(!jvm.stay.end());
        }
        // Where nobody could see anything nobody waits.
        let blind = Jvm { stay: Stay::new(None), ..Jvm::new(0x1800) };
        blind.stay(|jvm| assert_eq!(jvm.stay.posted(), None), |_| ());
        assert_eq!(blind.stay.stayed(), 0);
    }

    #[test]
    fn an_answer_lets_the_thread_go() {
        let jvm = Jvm::new(0x1800);
        // However busy a machine is, not each time.
        let stayed = (0..50).map(|_| {
            jvm.stay(Jvm::asked, |jvm| {
                jvm.stay.end();
            })
        });
        assert!(stayed.min() < Some(Duration::from_nanos(LONGEST)));
    }

    #[test]
    fn a_thread_cannot_answer_in_another_round_or_slot() {
        let jvm = Jvm::new(0x1800);
        let round = jvm.stay.post(&POST).unwrap();
        assert_eq!(jvm.stay.post(&Post { tid: 8, ..POST }), None);
        assert_eq!(jvm.stay.posted(), Some(POST));
        assert!(jvm.stay.ask() && !jvm.stay.end());
        let next = jvm.stay.post(&POST).unwrap();
        assert!(jvm.stay.ask() && !jvm.stay.change(round | ASKED, round | SEEN));
        assert!(jvm.stay.change(next | ASKED, next | SEEN) && jvm.stay.end());
        // One that is cleared away while it comes has not come.
        let late = jvm.stay.state.load(Ordering::Acquire);
        assert!(jvm.stay.change(late, late | COMING) && !jvm.stay.end());
        assert!(!jvm.stay.change(late | COMING, late | POSTED));
    }
}
