//! Where this JVM has what handlers and the agent look for: found once, when it is up.
//!
//! What is not found is not looked for again, and never guessed: whoever needs it does without.

use vouch_signal::witness_rendezvous::PollOffsets;
use vouch_walk::hotspot::HotspotWalker;
use vouch_walk::jvm_layout::JvmLayout;

use crate::vmstructs::CodeLayout;
use crate::{HotSpot, poll_offsets, walker_layout};

/// `None` where that is not known.
#[derive(Debug)]
pub struct Places {
    /// What says that a thread is to be stopped.
    pub polls: Option<PollOffsets>,
    /// What recovery needs.
    pub ground: Option<JvmLayout>,
    /// Our own walker, or why there is none.
    pub own: Result<&'static HotspotWalker, String>,
    /// Its code, and what a thread left Java with.
    pub code: Option<CodeLayout>,
}

impl Default for Places {
    fn default() -> Self {
        Self { polls: None, ground: None, own: Err("the JVM is not up yet".to_owned()), code: None }
    }
}

impl Places {
    /// Finds them by a JavaThread, if it is known where that lies, and where in it its JNIEnv does.
    ///
    /// # Safety
    /// It must be the calling thread's.
    pub unsafe fn find(hotspot: &HotSpot, thread: Option<(usize, usize)>) -> Self {
        let code = CodeLayout::of(hotspot);
        let ground = code.as_ref().zip(thread).and_then(|(code, (_, env))| code.jvm_layout(env));
        // SAFETY: by the caller's promise.
        let polls = thread.and_then(|(own, env)| unsafe { poll_offsets::find(hotspot, own, own + env) });
        let layout = match (&ground, &code) {
            (Some(ground), Some(code)) => walker_layout::of(hotspot, ground, code),
            _ => Err("this JVM does not publish where its code and its threads' stacks are".to_owned()),
        };
        let own = layout.map(|layout| &*Box::leak(Box::new(HotspotWalker::new(layout))));
        Self { polls, ground, own, code }
    }
}
