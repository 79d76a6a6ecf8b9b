//! The trait through which the stages between lane and recording call the JVM, so that tests can
//! run them without one.
//!
//! The stages use a [`Jvm`] and no JNI or JVMTI. The agent calls the real JVM. Nothing here
//! may run code of the program, or pass the JVM a class that may be unloaded. [`classes`] has what
//! names need, because callbacks of the agent use them, too.

pub mod classes;
#[cfg(test)]
pub mod fake;

use vouch_report::Power;
use vouch_sample::{Certainty, Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_verify::proof::{Body, Pool, Relation};

use crate::method::Method;
use crate::weak_object::WeakObject;

/// The questions about a sample that the stages ask the JVM.
pub trait Jvm {
    /// Resolves the method that an id had at a time. The JVM may use an id again for another
    /// method; a resolved method never becomes another one.
    fn resolve(&mut self, id: MethodId, time: u64) -> ResolvedMethod;

    /// Resolves the methods of frames as of a time, and appends the resolved frames to `resolved`.
    fn resolve_frames(&mut self, frames: &[Frame], time: u64, resolved: &mut Vec<ResolvedFrame>);

    /// Returns the names of a resolved method. `None` if it stands for no id, or if the class was
    /// unloaded before the names were read.
    fn method(&mut self, resolved: ResolvedMethod) -> Option<Method>;

    /// Returns true if some method id belonged to an old version of a redefined class.
    fn has_seen_obsolete(&self) -> bool;

    /// Returns true if the method is static, and its body.
    fn body(&mut self, method: &Method) -> (bool, Body);

    /// Returns the constant pool of the present version of a method's class. `None` if the JVM does
    /// not return it.
    fn constants(&mut self, method: &Method) -> Option<Pool>;

    /// Returns true if the class of a method has been redefined in this run.
    fn was_redefined(&mut self, method: &Method) -> bool;

    /// Returns how the callee's class is related to the class that the caller names. `candidates`
    /// has one method of each known class of that name.
    fn relation(&mut self, caller: &Method, candidates: &[Method], callee: &Method) -> Relation;

    /// Returns true if a method's class is a subclass of `java.lang.Thread`.
    fn is_of_thread(&mut self, method: &Method) -> bool;

    /// Returns true if the JVM starts its own threads with this routine.
    fn is_thread_entry(&self, routine: usize) -> bool;

    /// Returns true if the JDK's launcher created the JVM, and false if a program that embeds the
    /// JVM did.
    fn is_launched(&self) -> bool;

    /// Calls GetStackTrace for a thread. `None` if the thread has no stack any more. Just before
    /// GetStackTrace it calls `asking`, when all calls that may fail earlier have succeeded.
    fn stack(&mut self, tid: u32, serial: u32, asking: &mut dyn FnMut()) -> Option<Witnessed>;

    /// Returns the id and the name of the virtual thread that is mounted on a thread now. The
    /// thread must have been sampled in Java. `None` if none is mounted, or this JVM cannot be
    /// asked.
    fn mounted(&mut self, tid: u32, serial: u32) -> Option<(u64, String)>;

    /// Creates method ids for classes that may have been prepared without a ClassPrepare event.
    fn make_ids(&mut self);

    /// Returns for each thread, by its tid and serial, the object that it wants to lock or waits
    /// on. `None` for a thread that does not wait. The first `owners` threads also get the object's
    /// owner.
    ///
    /// The first `locks` threads are about to lock a monitor. Newer JVMs do not report the object
    /// of the other threads, so for them a default value is returned while they wait.
    fn wait_targets(
        &mut self,
        threads: &[(u32, u32)],
        locks: usize,
        owners: usize,
    ) -> Vec<Option<WaitTarget>>;

    /// Returns true if an object has not been collected.
    fn is_alive(&mut self, object: WeakObject) -> bool;

    /// Deletes the weak reference to an object. It must not be used again.
    fn forget(&mut self, object: WeakObject);

    /// Finds the kind of code at an address.
    fn code_at(&mut self, pc: usize) -> CodeAt;

    /// Returns the top frame of a stack that begins with a caller. `pc` is within the call
    /// instruction of that caller.
    fn top_at(&mut self, pc: usize) -> Option<TopFrame>;

    /// Finds the inlined frames at an address in compiled code, by the machine code. `walked` has
    /// the frames that a walk found from that address on. The result is `None` if the machine code
    /// does not decide.
    fn inlined_at(&mut self, site: Site, walked: &[Frame]) -> Option<InlinedFrames>;

    /// Counts the sites in compiled code that are decided and have other methods in the next run of
    /// instructions. The count of noticed ones has those at which it would be noticed if a walker
    /// took the next run's methods.
    fn neighbouring_runs(&self) -> Power;

    /// Finds the top frame of a thread that waits in its signal handler.
    fn top(&mut self, post: &PostedThread) -> Top;
}

/// The address in compiled code at which a walk found its innermost frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Site {
    /// The address of the interrupted instruction, or an address within the call instruction.
    pub pc: usize,
    /// True if `pc` is within a call instruction.
    pub is_call: bool,
}

impl Site {
    /// Returns the end of the instruction that the sample's time is charged to.
    ///
    /// For an interrupted frame it is the instruction before the pc, because an interrupt waits for
    /// a slow instruction to end. For a caller it is the call, which ends after `pc`.
    pub fn charged_end(self) -> usize {
        self.pc.wrapping_add(usize::from(self.is_call))
    }
}

/// The inlined frames at an address in compiled code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlinedFrames {
    /// The number of the walk's frames that share the compiled frame at this address: the compiled
    /// method's and the inlined ones.
    pub found: usize,
    /// The frames according to the machine code, if they differ from the walk's.
    pub right: Option<Box<[Frame]>>,
    /// How certain the inlined frames are.
    pub certainty: Certainty,
    /// The instructions of the compiled code that have debug information.
    pub described: DebugInfoAt,
}

/// The instructions of compiled code that have debug information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfoAt {
    AllInstructions,
    /// Only safepoints have debug information, because the code was compiled before the agent was
    /// loaded.
    SafepointsUntilAttach,
    /// Only safepoints have debug information, because the JVM was started with
    /// `-XX:-DebugNonSafepoints`.
    SafepointsByFlag,
}

/// The kind of code at an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CodeAt {
    /// The address is in code of the interpreter.
    Interpreter,
    /// The address is in code of this compiled method.
    Method(MethodId),
    /// The address is in code of an unknown compiled method. The code was compiled before the agent
    /// was loaded, or the JVM has not reported it yet. It may also be a part that JVMTI does not
    /// report, such as an exception handler.
    Unknown,
    /// The address is in other code of the JVM, which belongs to no method.
    #[default]
    Other,
}

/// The frames of a thread that may have returned when it comes to its next safepoint poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Top {
    /// The innermost frame with all methods that are inlined in it; `None` if it is not known.
    pub frame: Option<TopFrame>,
    /// True if the thread has left Java, so that it polls before it runs Java code again.
    pub away: bool,
}

/// A compiled frame with all methods that are inlined in it, or the frames that the interpreter may
/// leave without a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopFrame {
    /// The number of Java frames that the top frame consists of.
    pub frames: usize,
    /// The method of the outermost frame, if that frame is compiled.
    pub outermost: Option<MethodId>,
}

impl Top {
    /// Replaces the id of the outermost method by the result of `id` for it.
    #[must_use]
    pub fn map_method(self, id: impl FnOnce(MethodId) -> MethodId) -> Self {
        let frame =
            self.frame.map(|frame| TopFrame { outermost: frame.outermost.map(id), frames: frame.frames });
        Self { frame, ..self }
    }

    /// Returns how many frames of a walk may have returned, or why that is unknown.
    pub fn frames_in(self, walk: &[Frame]) -> Result<usize, UnknownTop> {
        if let Some(Frame::JavaNative { .. }) = walk.first() {
            // After its poll, a native method returns, and its caller runs to the next poll.
            return if self.away { Ok(0) } else { Err(UnknownTop::Unplaced) };
        }
        let TopFrame { frames, outermost } = self.frame.ok_or(UnknownTop::Unplaced)?;
        let found = frames.checked_sub(1).and_then(|last| walk.get(last)).ok_or(UnknownTop::Elsewhere)?;
        match outermost {
            Some(method) if method != found.method() => Err(UnknownTop::Elsewhere),
            _ if frames == walk.len() => Err(UnknownTop::TopAlone),
            _ => Ok(frames),
        }
    }
}

/// The reason why it is unknown which frames have returned since the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownTop {
    /// The handler did not see that its thread would be stopped.
    Late,
    /// The code of the innermost frames is not known.
    Unplaced,
    /// The walk and the compiled code disagree about the method of the top frame.
    Elsewhere,
    /// The stack has no frame outside of the top frame.
    TopAlone,
    /// A virtual thread was mounted on the thread of the sample.
    Carrier,
}

impl UnknownTop {
    /// Returns the name of the reason in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Unplaced => "unplaced",
            Self::Elsewhere => "elsewhere",
            Self::TopAlone => "top_alone",
            Self::Carrier => "carrier",
        }
    }
}

/// The object that a thread waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitTarget {
    /// The name of the object's class, as in source code; empty if the JVM does not report it.
    pub class: String,
    /// The name of the thread that owns the object, if it has an owner.
    pub owner: Option<String>,
}

/// A stack from GetStackTrace, leaf first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    pub frames: Vec<Frame>,
    /// True if the thread provably did not run between the walk and GetStackTrace.
    pub exact: bool,
}
