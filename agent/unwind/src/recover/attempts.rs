//! Walks the candidates of one sample, one after the other. A candidate is a repaired context, and
//! the guard protects the search for it and its walk.
//!
//! The limits on the number of candidates and on their time must hold for each sample.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vouch_sample::{Answer, Reason};

use super::interrupted_thread::InterruptedThread;
use super::strategies::{ALL, STRATEGIES};
use super::strategy::{Step, Strategy};
use crate::context::{link_register, registers, repair};
use crate::guard;
use crate::jvm_layout::JvmLayout;
use crate::kernel::own_cpu;
use crate::walker::{Room, Subject, Walker};

/// The maximal number of candidates of a sample that recovery walks.
const MAX_CANDIDATES: u32 = 12;
/// The CPU time in nanoseconds after which recovery begins no further candidate of a sample.
const MAX_CPU_NANOS: u64 = 500_000;

/// The number of faults in the JVM's code after which recovery stops. Each fault abandoned that
/// code halfway.
pub const MAX_CRASHES: u64 = 100;

/// The configuration of recovery, and its counters.
#[derive(Debug)]
pub struct Recovery {
    pub jvm: JvmLayout,
    /// Which recovery strategies are enabled, by their index in [`ALL`].
    pub chosen: [bool; STRATEGIES],
    /// The number of candidates of each strategy that were walked.
    pub tried: [AtomicU64; STRATEGIES],
    /// The number of candidates that faulted in the JVM's code.
    pub crashed: AtomicU64,
    /// True after the agent has stopped recovery.
    pub stopped: AtomicBool,
}

/// The recovery of one sample: which candidate is walked next.
#[derive(Debug)]
pub struct Attempts<'r> {
    recovery: &'r Recovery,
    /// The index in [`ALL`] of the next candidate's strategy.
    strategy: usize,
    /// The number of the next candidate within its strategy.
    number: usize,
    walked: u32,
    begun: u64,
    /// True if the sample's time for recovery is used up.
    late: bool,
}

/// The result of a walk from a repaired context.
#[derive(Debug, Clone, Copy)]
pub struct Recovered {
    pub answer: Answer,
    /// The index in [`ALL`] of the strategy that found the candidate.
    pub strategy: u16,
    /// The pc of the repaired context at which the walk began.
    pub pc: usize,
}

impl Recovery {
    /// Begins the recovery of a sample. The result is `None` if recovery is stopped.
    pub fn attempts(&self) -> Option<Attempts<'_>> {
        let stopped =
            self.stopped.load(Ordering::Relaxed) || self.crashed.load(Ordering::Relaxed) >= MAX_CRASHES;
        // The CPU clock does not count time during which the handler is preempted.
        let begun = own_cpu();
        let first = Attempts { recovery: self, strategy: 0, number: 0, walked: 0, begun, late: false };
        (!stopped).then_some(first)
    }
}

impl Attempts<'_> {
    /// Walks candidates of the sample until one has a stack.
    ///
    /// # Safety
    /// As for [`guard::walk`].
    pub unsafe fn next(
        &mut self,
        walker: &dyn Walker,
        subject: &Subject<'_>,
        room: Room,
    ) -> Option<Recovered> {
        let Recovery { jvm, chosen, tried, crashed, .. } = self.recovery;
        while self.walked < MAX_CANDIDATES && !self.late {
            let this = self.strategy;
            let strategy = ALL.get(this)?;
            if chosen.get(this) != Some(&true) {
                self.strategy = this.wrapping_add(1);
                continue;
            }
            let (number, ended, pc) = (Cell::new(self.number), Cell::new(true), Cell::new(0));
            let attempt = Attempt { walker, jvm, strategy, number: &number, ended: &ended, pc: &pc };
            // SAFETY: the caller promised what `guard::walk` requires.
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
            self.late = own_cpu().wrapping_sub(self.begun) > MAX_CPU_NANOS;
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

/// A walker that finds the next candidate of a recovery strategy and walks it.
#[derive(Debug)]
struct Attempt<'a> {
    walker: &'a dyn Walker,
    jvm: &'a JvmLayout,
    strategy: &'a Strategy,
    /// The number of the next candidate. The walk advances it.
    number: &'a Cell<usize>,
    /// True if the strategy has no more candidates, or the search for a candidate faulted.
    ended: &'a Cell<bool>,
    /// The pc at which the walk began, or 0 if the strategy had no candidate.
    pc: &'a Cell<usize>,
}

// SAFETY: one handler creates and drops an attempt, so a single thread uses its cells.
unsafe impl Sync for Attempt<'_> {}

// SAFETY: the wrapped walker keeps the promises of the trait, and only it writes frames.
unsafe impl Walker for Attempt<'_> {
    fn runs_jvm(&self) -> bool {
        self.walker.runs_jvm()
    }

    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        // SAFETY: the caller promised a ucontext and the thread's JNIEnv.
        let thread = unsafe {
            let (at, link) = (registers(subject.context), link_register(subject.context));
            InterruptedThread::new(at, link, subject, self.jvm, self.walker.barrier())
        };
        let thread = thread.ok_or(Reason::UNKNOWN_JAVA)?;
        let candidate = loop {
            let number = self.number.get();
            self.number.set(number.wrapping_add(1));
            match (self.strategy.propose)(&thread, number) {
                Step::Try(candidate) => break candidate,
                Step::Skip => {}
                Step::End => return Err(Reason::UNKNOWN_JAVA),
            }
        };
        self.ended.set(false);
        self.pc.set(candidate.pc);
        // SAFETY: the caller promised a ucontext. No thread resumes from the copy.
        unsafe {
            let mut copy = subject.context.cast::<libc::ucontext_t>().read();
            repair((&raw mut copy).cast(), candidate);
            let repaired = Subject { context: (&raw mut copy).cast(), is_caller: true, ..*subject };
            self.walker.walk(&repaired, room)
        }
    }
}
