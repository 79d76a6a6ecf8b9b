//! The truth lab: one thread's stack as AsyncGetCallTrace tells it and as our own walker does, and
//! at the same moment as GetStackTrace.
//!
//! It serves the natives of the Java class `dev.vouch.Oracle`, with a recording or without. The
//! walks always come before the witness, which makes the method ids that a walk may be lacking. It
//! must never be on the way of an ordinary sample.

mod answer;
mod natives;

use std::ffi::c_void;

use jni::JNIEnv;
use jni::objects::JObject;
use parking_lot::Mutex;
use vouch_sample::{Frame, Stack};
use vouch_verify::witness::{Comparison, Difference, compare};
use vouch_walk::walker::{RawFrame, Walker};

use crate::agent::Agent;
use crate::clock::own_tid;
use crate::facade::{Capability, StackFrame};
use crate::java;
use crate::single_walk::{SingleWalk, Walked};
use crate::threads::registry;

/// How a walk was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The walker was called.
    Direct,
    /// A SIGPROF that the thread sent itself.
    Signal,
    /// A SIGPROF to the thread while it was suspended.
    Suspended,
}

/// The answer of a walker: frames, or why not.
#[derive(Debug)]
struct Walk {
    walker: &'static dyn Walker,
    way: Way,
    found: Walked,
}

/// The accounts of one moment.
#[derive(Debug)]
pub struct Asked {
    walks: Vec<Walk>,
    witness: Vec<Frame>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The thread has ended, or cannot be suspended.
    Gone,
    /// The thread took no signal.
    Silent,
    /// The JVM does not let us suspend threads: another agent may have that right.
    NoSuspending,
    /// The thread asked about itself.
    Own,
    /// The JVM gave no witness.
    NoWitness,
}

/// One question at a time, and the memory that it is answered in.
#[derive(Debug, Default)]
struct Desk {
    walked: Vec<RawFrame>,
    room: Vec<StackFrame>,
    may_suspend: bool,
}

static DESK: Mutex<Desk> = Mutex::new(Desk { walked: Vec::new(), room: Vec::new(), may_suspend: false });

/// The calling thread, in both ways in which it can be walked.
fn ask_self(agent: &Agent, env: &JNIEnv<'_>, limit: usize) -> Result<Asked, Refusal> {
    let mut desk = DESK.lock();
    let own: *mut c_void = env.get_raw().cast();
    let slot = registry().slots().find(own_tid()).ok_or(Refusal::Gone)?;
    let mut walks = Vec::new();
    for walker in agent.asked() {
        let question = SingleWalk { walker, slot, env: own };
        // SAFETY: slot and JNIEnv are the calling thread's.
        let found = unsafe { question.direct(desk.walked(limit)) };
        walks.push(Walk { walker, way: Way::Direct, found });
        // SAFETY: as above.
        let found = unsafe { question.signalled(own_tid(), desk.walked(limit)) }.ok_or(Refusal::Silent)?;
        walks.push(Walk { walker, way: Way::Signal, found });
    }
    let witness = desk.witness(agent, std::ptr::null_mut())?;
    Ok(Asked { walks, witness })
}

/// Another thread, held where it stands.
fn ask_other(
    agent: &Agent,
    env: &mut JNIEnv<'_>,
    thread: &JObject<'_>,
    limit: usize,
) -> Result<Asked, Refusal> {
    let mut desk = DESK.lock();
    if !desk.may_suspend {
        agent.jvmti.add_capability(Capability::Suspend).map_err(|_| Refusal::NoSuspending)?;
        desk.may_suspend = true;
    }
    let java_thread = java::java_thread(env, thread);
    let (tid, slot, env) = registry().java(java_thread).ok_or(Refusal::Gone)?;
    if tid == own_tid() {
        return Err(Refusal::Own);
    }
    agent.jvmti.suspend(thread.as_raw()).map_err(|_| Refusal::Gone)?;
    // From here to `resume` nothing may wait for what the thread could hold.
    let mut walks = Vec::new();
    for walker in agent.asked() {
        // SAFETY: the thread is suspended, so it does not end, and its JNIEnv is its own until it
        // does.
        let found = unsafe { SingleWalk { walker, slot, env }.signalled(tid, desk.walked(limit)) };
        walks.push(found.map(|found| Walk { walker, way: Way::Suspended, found }));
    }
    let witness = desk.witness(agent, thread.as_raw());
    let resumed = agent.jvmti.resume(thread.as_raw());
    debug_assert!(resumed.is_ok(), "the thread was suspended by us");
    let walks: Option<Vec<_>> = walks.into_iter().collect();
    Ok(Asked { walks: walks.ok_or(Refusal::Silent)?, witness: witness? })
}

impl Desk {
    /// Room for a walk of at most `limit` frames.
    fn walked(&mut self, limit: usize) -> &mut [RawFrame] {
        let room = limit.saturating_add(1);
        let size = self.walked.len().max(room);
        self.walked.resize(size, RawFrame::EMPTY);
        &mut self.walked[..room]
    }

    fn witness(&mut self, agent: &Agent, thread: jni_sys::jobject) -> Result<Vec<Frame>, Refusal> {
        let count =
            agent.jvmti.stack_trace(thread, &mut self.room, usize::MAX).map_err(|_| Refusal::NoWitness)?;
        Ok(self.room[..count].iter().map(|frame| frame.frame()).collect())
    }
}

impl Asked {
    /// Each walk with its comparison.
    fn compared(&self) -> impl Iterator<Item = (&Walk, Comparison)> {
        self.walks.iter().map(|walk| (walk, walk.compare(&self.witness)))
    }

    /// True if no walk differs from the witness.
    fn agrees(&self) -> bool {
        self.compared().all(|(_, comparison)| comparison.differences.is_empty())
    }

    /// The same of AsyncGetCallTrace's walks alone.
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
