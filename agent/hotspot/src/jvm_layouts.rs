//! Finds the offsets and addresses in this JVM that handlers and the agent read. It does so once,
//! after VM initialization.
//!
//! A layout that was not found is `None`. It is never searched for again and never guessed: the
//! feature that needs it is off.

use vouch_signal::witness_rendezvous::PollOffsets;
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::jvm_layout::JvmLayout;

use crate::error::Error;
use crate::vmstructs::CodeLayout;
use crate::{HotSpot, poll_offsets, walker_layout};

/// The layouts of this JVM's memory that handlers and the agent read.
#[derive(Debug)]
pub struct JvmLayouts {
    /// Offsets in a JavaThread of the poll word and of the handshake queue, which the comparison
    /// with GetStackTrace needs.
    pub polls: Option<PollOffsets>,
    /// The layout that recovery needs to repair an interrupted context.
    pub jvm: Option<JvmLayout>,
    /// Vouch's own walker, or the reason why it cannot walk this JVM.
    pub walker: Result<&'static HotspotWalker, Error>,
    /// The code cache, and the last Java frame's registers in a JavaThread.
    pub code: Option<CodeLayout>,
}

impl Default for JvmLayouts {
    fn default() -> Self {
        Self { polls: None, jvm: None, walker: Err(Error::NotInitialized), code: None }
    }
}

impl JvmLayouts {
    /// Finds the layouts of a JVM. `thread` is the calling thread's JavaThread, and the offset of
    /// the JNIEnv in it, or `None` if the JVM does not publish them.
    ///
    /// # Safety
    /// The JavaThread must be the calling thread's.
    pub unsafe fn find(hotspot: &HotSpot, thread: Option<(usize, usize)>) -> Self {
        let code = CodeLayout::find(hotspot);
        let jvm = code.as_ref().zip(thread).and_then(|(code, (_, env))| code.jvm_layout(env));
        // SAFETY: by the caller's promise.
        let polls = thread.and_then(|(java_thread, env)| unsafe {
            poll_offsets::find(hotspot, java_thread, java_thread + env)
        });
        let layout = match (&jvm, &code) {
            (Some(jvm), Some(code)) => walker_layout::find(hotspot, jvm, code),
            _ => Err(Error::CodeAndStacks),
        };
        let walker = layout.map(|layout| &*Box::leak(Box::new(HotspotWalker::new(layout))));
        Self { polls, jvm, walker, code }
    }
}
