//! The functions of the agent that the truth lab (crate `vouch-lab`, for tests) calls.
//!
//! The lab's library contains the whole agent, and adds to it. The released library has nothing of
//! this file, because nothing in the agent calls it. It must never be used by the product.

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::jobject;
use vouch_sample::{Frame, MethodId};
use vouch_sampling::clock;
use vouch_unwind::walker::Walker;

use crate::agent::{Agent, agent};
use crate::facade::Capability;
use crate::lab_hooks::WalkerWrapper;
use crate::threads::late;

pub use crate::fault::guard;
pub use crate::java::{java_thread, text};
pub use crate::say::say;
pub use crate::single_walk::{Found, SingleWalk, Walked};

/// The agent of this process, once it has been loaded.
#[derive(Debug, Clone, Copy)]
pub struct LoadedAgent(&'static Agent);

impl LoadedAgent {
    /// Returns `None` if the JVM has not loaded the agent.
    pub fn get() -> Option<Self> {
        agent().map(Self)
    }

    /// Returns the walkers that the lab queries: AsyncGetCallTrace, and the agent's walker if it
    /// works here.
    pub fn walkers(self) -> Vec<&'static dyn Walker> {
        self.0.asked()
    }

    /// Wraps AsyncGetCallTrace for the lab, or restores it.
    pub fn break_walker(self, how: Option<&dyn WalkerWrapper>) {
        self.0.break_walker(how);
    }

    /// Returns the whole stack of a thread as GetStackTrace reports it. A null `thread` is the
    /// calling thread.
    pub fn stack_trace(self, thread: jobject) -> Option<Vec<Frame>> {
        let mut frames = Vec::new();
        let count = self.0.jvmti.stack_trace(thread, &mut frames, usize::MAX).ok()?;
        Some(frames[..count].iter().map(|frame| frame.frame()).collect())
    }

    /// Calls `visit` with every live platform thread.
    pub fn each_java_thread(self, env: &mut JNIEnv<'_>, visit: impl FnMut(&mut JNIEnv<'_>, &JObject<'_>)) {
        late::each_java_thread(self.0.jvmti, env, visit);
    }

    /// Returns true if the JVM allows this library to suspend threads.
    pub fn may_suspend(self) -> bool {
        self.0.jvmti.add_capability(Capability::Suspend).is_ok()
    }

    /// Suspends a thread. Returns false if it has ended.
    pub fn suspend(self, thread: jobject) -> bool {
        self.0.jvmti.suspend(thread).is_ok()
    }

    /// Resumes a suspended thread. Returns false if it was not suspended.
    pub fn resume(self, thread: jobject) -> bool {
        self.0.jvmti.resume(thread).is_ok()
    }

    /// Returns the full name of a method, or `None` if it cannot be resolved any more.
    pub fn method_name(self, env: &mut JNIEnv<'_>, method: MethodId) -> Option<String> {
        let now = self.0.resolver.resolve(env, method, clock::monotonic());
        self.0.resolver.method(env, now).map(|method| method.full_name())
    }
}
