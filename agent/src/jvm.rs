//! What the stages between lane and recording ask the JVM: all of it, and in words that a test can
//! answer, too.
//!
//! The stages know a [`Jvm`] and nothing of JNI or JVMTI; what asks in earnest is [`live::Live`].
//! Nothing here may run code of the program's, or ask about a class that may be gone.

#[cfg(test)]
pub mod fake;
pub mod live;
mod mounted;
mod relations;
mod stacks;
mod top;
mod top_frames;

use vouch_report::Power;
use vouch_sample::{Certainty, Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_verify::proof::{Body, Pool, Relation};

use crate::resolve::Method;

/// The JVM, as far as a sample's stages ask it.
pub trait Jvm {
    /// What an id meant at a time. That never comes to mean anything else: what is concluded from
    /// it holds.
    fn meaning(&mut self, id: MethodId, time: u64) -> ResolvedMethod;

    /// Adds to `meant` what these frames' ids meant at a time.
    fn meant(&mut self, frames: &[Frame], time: u64, meant: &mut Vec<ResolvedFrame>);

    /// The method of a meaning; `None` for no id, and if nobody knows its name any more.
    fn method(&mut self, meaning: ResolvedMethod) -> Option<Method>;

    /// True if a method of a class was met that has been redefined since.
    fn met_obsolete(&self) -> bool;

    /// Whether a method is static, and its body.
    fn body(&mut self, method: &Method) -> (bool, Body);

    /// The constants of a method's class, in its present version; `None` if they cannot be had.
    fn constants(&mut self, method: &Method) -> Option<Pool>;

    /// True if the class of a method has been redefined in this run.
    fn was_redefined(&mut self, method: &Method) -> bool;

    /// How the callee's class stands to the one that the caller means by a name. The candidates are
    /// a method of each known class of that name.
    fn relation(&mut self, caller: &Method, candidates: &[Method], callee: &Method) -> Relation;

    /// True if a method's class is a `java.lang.Thread`.
    fn is_of_thread(&mut self, method: &Method) -> bool;

    /// True if the JVM itself begins its threads with this routine.
    fn begins_with(&self, routine: usize) -> bool;

    /// True if the JDK's own launcher made the JVM, and no program of somebody's.
    fn is_launched(&self) -> bool;

    /// GetStackTrace's account of a thread; `None` if the thread has none any more. When everything
    /// is there to ask with, `asking` is told.
    fn stack(&mut self, tid: u32, serial: u32, asking: &mut dyn FnMut()) -> Option<Witnessed>;

    /// The id and the name of the virtual thread that a thread, which has been sampled in Java,
    /// runs now; `None` if that cannot be asked, or it runs as itself.
    fn mounted(&mut self, tid: u32, serial: u32) -> Option<(u64, String)>;

    /// Has the JVM make the ids of methods of which it may not have said that their classes were
    /// prepared.
    fn make_ids(&mut self);

    /// What each of these threads, by its number and serial, wants to enter or waits on, and, of so
    /// many from the first on, who has it; `None` for one that wants nothing. Of those after the
    /// first `locks` newer JVMs do not tell what they wait on: they want something as long as they
    /// wait.
    fn wanted(&mut self, threads: &[(u32, u32)], locks: usize, owners: usize) -> Vec<Option<Wanted>>;

    /// Whose code lies at an address.
    fn code_at(&mut self, pc: usize) -> CodeAt;

    /// What of a stack is one with the frame that calls from an address; the address is within the
    /// call.
    fn top_at(&mut self, pc: usize) -> Option<TopFrame>;

    /// The inlined frames at a place in compiled code, of a walk that has these frames from there
    /// on; `None` where nothing can be decided.
    fn inlined_at(&mut self, site: Site, walked: &[Frame]) -> Option<InlinedFrames>;

    /// How many decided places have a neighbour in the code with other methods, and at how many of
    /// them the neighbour's methods would be noticed if a walker took them.
    fn neighbouring_runs(&self) -> Power;

    /// What stands on top of the stack of a thread that stays in its handler.
    fn top(&mut self, post: &PostedThread) -> Top;
}

/// Where in compiled code the innermost frames of a walk were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Site {
    /// The instruction that was interrupted, or an address within the call.
    pub pc: usize,
    pub calls: bool,
}

impl Site {
    /// Where the instruction ends that the sample's time is charged to: the one before the
    /// interrupted one, since an interrupt waits for a slow instruction; or the call, which ends
    /// behind the address within it.
    pub fn charged_end(self) -> usize {
        self.pc.wrapping_add(usize::from(self.calls))
    }
}

/// The inlined frames at a place in compiled code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlinedFrames {
    /// How many frames of the walk they are.
    pub found: usize,
    /// What the machine code has there, if it is something else.
    pub right: Option<Box<[Frame]>>,
    /// How well that is known.
    pub certainty: Certainty,
    /// False if the code was compiled before the agent was loaded, and has debug information only
    /// at safepoints.
    pub is_described: bool,
}

/// Whose code it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CodeAt {
    /// The interpreter's.
    Interpreter,
    /// A compiled method's.
    Method(MethodId),
    /// A compiled method's, and nobody knows whose: it was compiled before the agent was there, or
    /// the JVM has not told yet; or it is what the JVM does not tell, such as a method's way to its
    /// handlers of exceptions.
    Unknown,
    /// The JVM's own: there is no method in it.
    #[default]
    Other,
}

/// What may have gone when a thread comes to its next safepoint poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Top {
    /// Its innermost frame, with all that is one with it; `None` if that is not known.
    pub frame: Option<TopFrame>,
    /// It has left Java, and polls before it is back.
    pub away: bool,
}

/// A compiled frame, or what an interpreter may leave without a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopFrame {
    /// How many frames of a stack it stands for.
    pub frames: usize,
    /// The outermost of them, where it is compiled code's own.
    pub outermost: Option<MethodId>,
}

impl Top {
    /// The same with another id for its method.
    pub fn with(self, id: impl FnOnce(MethodId) -> MethodId) -> Self {
        let frame =
            self.frame.map(|frame| TopFrame { outermost: frame.outermost.map(id), frames: frame.frames });
        Self { frame, ..self }
    }

    /// How many frames of this walk may have gone, or why that cannot be told.
    pub fn of(self, walk: &[Frame]) -> Result<usize, Unknown> {
        if let Some(Frame::Native { .. }) = walk.first() {
            // Behind its poll a native method returns, and its caller goes on to a poll of its own.
            return if self.away { Ok(0) } else { Err(Unknown::Unplaced) };
        }
        let TopFrame { frames, outermost } = self.frame.ok_or(Unknown::Unplaced)?;
        let found = frames.checked_sub(1).and_then(|last| walk.get(last)).ok_or(Unknown::Elsewhere)?;
        match outermost {
            Some(method) if method != found.method() => Err(Unknown::Elsewhere),
            _ if frames == walk.len() => Err(Unknown::TopAlone),
            _ => Ok(frames),
        }
    }
}

/// Why nobody can tell which frames may have gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It was not seen that the thread would be stopped.
    Late,
    /// It is not known what stood on top.
    Unplaced,
    /// The walk has something else there.
    Elsewhere,
    /// There is nothing but the top.
    TopAlone,
    /// A virtual thread was mounted.
    Carrier,
}

impl Unknown {
    /// Its name in the report.
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

/// What a thread waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// As in source; empty where the JVM does not tell.
    pub class: String,
    /// The name of the thread that has it.
    pub owner: Option<String>,
}

/// What GetStackTrace says of a sample's thread, leaf first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    pub frames: Vec<Frame>,
    /// The thread provably did not run between the walk and this.
    pub exact: bool,
}
