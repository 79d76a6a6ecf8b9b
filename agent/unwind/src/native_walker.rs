//! The trait of the walker of native frames.
//!
//! Such a walker begins at the interrupted instruction, in any thread, and ends at the thread's
//! start or at the Java code that called native code. It is no [`Walker`](crate::walker::Walker),
//! because a stack needs both: its own frames come above those of Java.

use core::fmt::Debug;

use vouch_sample::Answer;

use crate::walker::{Room, Subject};

/// A way to walk the native frames of a thread.
///
/// # Safety
/// As for [`crate::walker::Walker`].
pub unsafe trait NativeWalker: Debug + Sync {
    /// Walks the native frames of the thread, which may have no JNIEnv. It writes each as a tag and
    /// a word, see [`vouch_sample::Frame`]. If the walk does not end at the thread's start or in
    /// Java code, it sets a cut after the last frame.
    ///
    /// # Safety
    /// The subject must be the calling thread, with the context of its signal's handler. The buffer
    /// must be as large as `room` says.
    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer;

    /// Returns true once after a walk has found code in no known library. The agent's thread should
    /// then be woken to look for libraries.
    fn take_wants_libraries(&self) -> bool;
}
