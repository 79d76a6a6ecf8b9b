//! The truth lab walks one thread's stack by AsyncGetCallTrace, by our own walker and by
//! GetStackTrace at the same moment.
//!
//! `libvouch_lab.so` is the whole agent, with the natives of the Java class `dev.vouch.Oracle`.
//! They work with a recording or without. The walks always come before the witness, because the
//! witness creates method ids that a walk may lack. Only tests use this crate. It must never be on
//! the path of an ordinary sample, and no other crate may use it.

mod answer;
mod broken;
mod fault;
mod hammer;
mod natives;
mod options;
mod true_stacks;

use std::ffi::c_void;

use jni::JNIEnv;
use jni::objects::JObject;
use parking_lot::Mutex;
use vouch::lab_api::{LoadedAgent, SingleWalk, Walked, java_thread};
use vouch_sample::{Frame, Stack};
use vouch_sampling::clock::own_tid;
use vouch_sampling::threads::registry;
use vouch_unwind::walker::{RawFrame, Walker};
use vouch_verify::witness::{Comparison, Difference, compare};

/// The way in which a walk was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The walker was called directly.
    Direct,
    /// The thread sent itself a SIGPROF.
    Signal,
    /// The thread got a SIGPROF while it was suspended.
    Suspended,
}

/// The answer of a walker: frames, or the reason for a failure.
#[derive(Debug)]
struct Walk {
    walker: &'static dyn Walker,
    way: Way,
    found: Walked,
}

/// The candidate stacks of one moment.
#[derive(Debug)]
pub struct Asked {
    walks: Vec<Walk>,
    witness: Vec<Frame>,
}

/// The reason why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The thread has ended, or cannot be suspended.
    Gone,
    /// The thread handled no signal.
    Silent,
    /// The JVM does not let us suspend threads. Another agent may have that capability.
    NoSuspending,
    /// The thread asked about itself.
    Own,
    /// GetStackTrace returned no stack.
    NoWitness,
}

/// The memory for one question at a time.
#[derive(Debug, Default)]
struct Desk {
    walked: Vec<RawFrame>,
    may_suspend: bool,
}

static DESK: Mutex<Desk> = Mutex::new(Desk { walked: Vec::new(), may_suspend: false });

/// Walks the calling thread in both ways that are possible for it.
fn ask_self(agent: LoadedAgent, env: &JNIEnv<'_>, limit: usize) -> Result<Asked, Refusal> {
    let mut desk = DESK.lock();
    let own: *mut c_void = env.get_raw().cast();
    let slot = registry().slots().find(own_tid()).ok_or(Refusal::Gone)?;
    let mut walks = Vec::new();
    for walker in agent.walkers() {
        let question = SingleWalk { walker, slot, env: own };
        // SAFETY: slot and JNIEnv are the calling thread's.
        let found = unsafe { question.direct(desk.walked(limit)) };
        walks.push(Walk { walker, way: Way::Direct, found });
        // SAFETY: as above.
        let found = unsafe { question.signalled(own_tid(), desk.walked(limit)) }.ok_or(Refusal::Silent)?;
        walks.push(Walk { walker, way: Way::Signal, found });
    }
    let witness = agent.stack_trace(std::ptr::null_mut()).ok_or(Refusal::NoWitness)?;
    Ok(Asked { walks, witness })
}

/// Walks another thread while it is suspended.
fn ask_other(
    agent: LoadedAgent,
    env: &mut JNIEnv<'_>,
    thread: &JObject<'_>,
    limit: usize,
) -> Result<Asked, Refusal> {
    let mut desk = DESK.lock();
    if !desk.may_suspend {
        desk.may_suspend = agent.may_suspend();
    }
    if !desk.may_suspend {
        return Err(Refusal::NoSuspending);
    }
    let (tid, slot, env) = registry().java(java_thread(env, thread)).ok_or(Refusal::Gone)?;
    if tid == own_tid() {
        return Err(Refusal::Own);
    }
    if !agent.suspend(thread.as_raw()) {
        return Err(Refusal::Gone);
    }
    // Until `resume`, this code must not wait for a lock that the thread could hold.
    let mut walks = Vec::new();
    for walker in agent.walkers() {
        // SAFETY: the thread is suspended, so it does not end. Its JNIEnv is valid until it ends.
        let found = unsafe { SingleWalk { walker, slot, env }.signalled(tid, desk.walked(limit)) };
        walks.push(found.map(|found| Walk { walker, way: Way::Suspended, found }));
    }
    let witness = agent.stack_trace(thread.as_raw()).ok_or(Refusal::NoWitness);
    let resumed = agent.resume(thread.as_raw());
    debug_assert!(resumed, "the thread was suspended by us");
    let walks: Option<Vec<_>> = walks.into_iter().collect();
    Ok(Asked { walks: walks.ok_or(Refusal::Silent)?, witness: witness? })
}

impl Desk {
    /// Returns a buffer for a walk of at most `limit` frames.
    fn walked(&mut self, limit: usize) -> &mut [RawFrame] {
        let room = limit.saturating_add(1);
        let size = self.walked.len().max(room);
        self.walked.resize(size, RawFrame::EMPTY);
        &mut self.walked[..room]
    }
}

impl Asked {
    /// Returns each walk with its comparison.
    fn compared(&self) -> impl Iterator<Item = (&Walk, Comparison)> {
        self.walks.iter().map(|walk| (walk, walk.compare(&self.witness)))
    }

    /// Returns true if no walk differs from the witness.
    fn agrees(&self) -> bool {
        self.compared().all(|(_, comparison)| comparison.differences.is_empty())
    }

    /// Returns true if no walk of AsyncGetCallTrace differs from the witness.
    fn asgct_agrees(&self) -> bool {
        self.compared().all(|(walk, comparison)| !walk.walker.runs_jvm() || comparison.differences.is_empty())
    }
}

impl Walk {
    fn compare(&self, witness: &[Frame]) -> Comparison {
        const NOTHING: Stack<'static> = Stack::whole(&[]);
        match &self.found {
            Ok(found) => compare(found.stack(), witness),
            Err(_) if witness.is_empty() => compare(NOTHING, witness),
            Err(why) => Comparison {
                differences: vec![Difference::Unwalked { why: *why }],
                ..compare(NOTHING, witness)
            },
        }
    }
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Signal => "signal",
            Self::Suspended => "suspended",
        }
    }
}

impl Refusal {
    fn reason(self) -> &'static str {
        match self {
            Self::Gone => "the thread has ended, or could not be suspended",
            Self::Silent => "the thread took no signal",
            Self::NoSuspending => {
                "this JVM does not let Vouch suspend threads: another agent may have that right"
            }
            Self::Own => "a thread cannot be suspended by itself",
            Self::NoWitness => "GetStackTrace failed",
        }
    }
}
