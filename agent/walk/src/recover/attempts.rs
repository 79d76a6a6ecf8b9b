//! The candidates of one sample, walked one after the other, each under the guard: also all that is
//! read to find it.
//!
//! There must never be more of them, or more time for them, than is said here.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vouch_sample::{Answer, Reason};

use super::interrupted_thread::Scene;
use super::strategies::{ALL, STRATEGIES};
use super::strategy::{Step, Strategy};
use crate::context::{link, registers, repair};
use crate::guard;
use crate::jvm_layout::Ground;
use crate::kernel::clock;
use crate::walker::{Room, Subject, Walker};

/// At most so many candidates are walked for a sample, and none is begun after so many nanoseconds.
const CANDIDATES: u32 = 12;
const PATIENCE: u64 = 500_000;

/// After so many candidates whose walk faulted nothing is recovered any more: each was left halfway
/// through the JVM's own code.
pub const MOST_CRASHES: u64 = 100;

/// What recovery is to do, and has done.
#[derive(Debug)]
pub struct Recovery {
    pub ground: Ground,
    /// By the number of each strategy: whether it is to be tried.
    pub chosen: [bool; STRATEGIES],
    /// How many candidates of each were walked.
    pub tried: [AtomicU64; STRATEGIES],
    /// How many of all faulted in the JVM's code.
    pub crashed: AtomicU64,
    /// Set by the agent: nothing is to be tried any more.
    pub stopped: AtomicBool,
}

/// The candidates of one sample.
#[derive(Debug)]
pub struct Attempts<'r> {
    recovery: &'r Recovery,
    /// The next candidate: its strategy, and its number there.
    strategy: usize,
    number: usize,
    walked: u32,
    begun: u64,
    /// No more is to be begun.
    late: bool,
}

/// A stack that a candidate gave.
#[derive(Debug, Clone, Copy)]
pub struct Recovered {
    pub answer: Answer,
    /// The number of its strategy.
    pub strategy: u16,
    /// Where the walk began.
    pub pc: usize,
}

impl Recovery {
    /// What can be tried for a sample; `None` if nothing can any more.
    pub fn attempts(&self) -> Option<Attempts<'_>> {
        let stopped =
            self.stopped.load(Ordering::Relaxed) || self.crashed.load(Ordering::Relaxed) >= MOST_CRASHES;
        // By the CPU clock: a handler may be preempted like anything else.
        let begun = clock(libc::CLOCK_THREAD_CPUTIME_ID);
        let first = Attempts { recovery: self, strategy: 0, number: 0, walked: 0, begun, late: false };
        (!stopped).then_some(first)
    }
}

impl Attempts<'_> {
    /// The next candidate that has a stack.
    ///
    /// # Safety
    /// As for [`guard::walk`].
    pub unsafe fn next(
        &mut self,
        walker: &dyn Walker,
        subject: &Subject<'_>,
        room: Room,
    ) -> Option<Recovered> {
        let Recovery { ground, chosen, tried, crashed, .. } = self.recovery;
        while self.walked < CANDIDATES && !self.late {
            let this = self.strategy;
            let strategy = ALL.get(this)?;
            if chosen.get(this) != Some(&true) {
                self.strategy = this.wrapping_add(1);
                continue;
            }
            let (number, ended, pc) = (Cell::new(self.number), Cell::new(true), Cell::new(0));
            let attempt = Attempt { walker, ground, strategy, number: &number, ended: &ended, pc: &pc };
            // SAFETY: by the caller's promise.
            let answer = unsafe { guard::walk(&attempt, subject, room) };
            (self.strategy, self.number) =
                if ended.get() { (this.wrapping_add(1), 0) } else { (this, number.get()) };
            if answer == Err(Reason::CRASHED) && walker.runs_jvm() {
                crashed.fetch_add(1, Ordering::Relaxed);
            }
            let pc = pc.get();
            if pc == 0 {
                continue;
            }
            self.walked = self.walked.wrapping_add(1);
            self.late = clock(libc::CLOCK_THREAD_CPUTIME_ID).wrapping_sub(self.begun) > PATIENCE;
            if let Some(tried) = tried.get(this) {
                tried.fetch_add(1, Ordering::Relaxed);
            }
            if answer.is_ok() {
                return Some(Recovered { answer, strategy: u16::try_from(this).unwrap_or(u16::MAX), pc });
            }
        }
        None
    }
}

/// The next candidate of a strategy, as a walker.
#[derive(Debug)]
struct Attempt<'a> {
    walker: &'a dyn Walker,
    ground: &'a Ground,
    strategy: &'a Strategy,
    /// The number to go on with.
    number: &'a Cell<usize>,
    /// The strategy has nothing more; also where looking for it faulted.
    ended: &'a Cell<bool>,
    /// Where the walk began; 0 if there was no candidate.
    pc: &'a Cell<usize>,
}

// SAFETY: an attempt is made and dropped by one handler, on one thread, which alone uses its cells.
unsafe impl Sync for Attempt<'_> {}

// SAFETY: the other walker keeps the promise; nothing is written but by it.
unsafe impl Walker for Attempt<'_> {
    fn runs_jvm(&self) -> bool {
        self.walker.runs_jvm()
    }

    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        // SAFETY: the context is a ucontext and the JNIEnv the thread's, by the caller's promise.
        let scene = unsafe {
            let (at, link) = (registers(subject.context), link(subject.context));
            Scene::of(at, link, subject, self.ground, self.walker.barrier())
        };
        let scene = scene.ok_or(Reason::UNKNOWN_JAVA)?;
        let candidate = loop {
            let number = self.number.get();
            self.number.set(number.wrapping_add(1));
            match (self.strategy.propose)(&scene, number) {
                Step::Try(candidate) => break candidate,
                Step::Skip => {}
                Step::End => return Err(Reason::UNKNOWN_JAVA),
            }
        };
        self.ended.set(false);
        self.pc.set(candidate.pc);
        // SAFETY: as above; the copy is nobody's to return to.
        unsafe {
            let mut copy = subject.context.cast::<libc::ucontext_t>().read();
            repair((&raw mut copy).cast(), candidate);
            let repaired = Subject { context: (&raw mut copy).cast(), calls: true, ..*subject };
            self.walker.walk(&repaired, room)
        }
    }
}
