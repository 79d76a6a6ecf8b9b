//! What the stages between lane and recording ask the JVM: all of it, and in words that a test can answer, too.
//!
//! The stages know a [`Jvm`] and nothing of JNI or JVMTI; what asks in earnest is [`live::Live`]. Nothing here may run code of the
//! program's, or ask about a class that may be gone.

mod live;
#[cfg(test)]
pub mod pretend;
mod relations;
mod stacks;

use vouch_proof::{Body, Pool, Relation};
use vouch_sample::{Frame, Head, Meaning, Meant, MethodId};

use crate::resolve::Method;

pub use live::Questions;

/// The JVM, as far as a sample's stages ask it.
pub trait Jvm {
    /// What an id meant at a time. That never comes to mean anything else: what is concluded from it holds.
    fn meaning(&mut self, id: MethodId, time: u64) -> Meaning;

    /// Adds to `meant` what these frames' ids meant at a time.
    fn meant(&mut self, frames: &[Frame], time: u64, meant: &mut Vec<Meant>);

    /// The method of a meaning; `None` for no id, and if nobody knows its name any more.
    fn method(&mut self, meaning: Meaning) -> Option<Method>;

    /// True if a method of a class was met that has been redefined since.
    fn met_obsolete(&self) -> bool;

    /// Whether a method is static, and its body.
    fn body(&mut self, method: &Method) -> (bool, Body);

    /// The constants of a method's class, in its present version; `None` if they cannot be had.
    fn constants(&mut self, method: &Method) -> Option<Pool>;

    /// True if the class of a method has been redefined in this run.
    fn was_redefined(&mut self, method: &Method) -> bool;

    /// How the callee's class stands to the one that the caller means by a name. The candidates are a method of each known
    /// class of that name.
    fn relation(&mut self, caller: &Method, candidates: &[Method], callee: &Method) -> Relation;

    /// True if a method's class is a `java.lang.Thread`.
    fn is_of_thread(&mut self, method: &Method) -> bool;

    /// True if the JVM itself begins its threads with this routine.
    fn begins_with(&self, routine: usize) -> bool;

    /// GetStackTrace's account of a sample's thread; `None` if the thread has none any more.
    fn stack(&mut self, head: &Head) -> Option<Witnessed>;
}

/// What GetStackTrace says of a sample's thread, leaf first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    pub frames: Vec<Frame>,
    /// The thread provably did not run between the walk and this.
    pub exact: bool,
}
