//! The trait of all stack walkers. A walker writes the frames of one thread into a buffer, leaf
//! first, or returns the reason why it cannot.
//!
//! Frames have the layout of AsyncGetCallTrace's, so they are copied unchanged into a lane, the
//! ring that a handler writes to. One decoder turns them into [`Frame`]s. A walker must do only
//! what a signal handler may do.

use core::cell::Cell;
use core::ffi::c_void;
use core::fmt::Debug;
use core::ops::Range;
use core::sync::atomic::AtomicUsize;

use vouch_sample::{Answer, Cut, Frame, MethodId};

/// A way to walk the stack of a thread.
///
/// # Safety
/// A walker must not write more frames than there is room for, and it must have written as many
/// frames as it returns. It must do only what a signal handler may do, and it may be abandoned at
/// any instruction.
pub unsafe trait Walker: Debug + Sync {
    /// True if the walker runs code of the JVM. A walk that faults abandons that code halfway.
    fn runs_jvm(&self) -> bool;

    /// Returns the code of the return barrier, if the walker can continue in a virtual thread's
    /// chunks. The range is empty if it cannot.
    fn barrier(&self) -> Range<usize> {
        0..0
    }

    /// Walks the stack of a thread, and writes its frames into the buffer.
    ///
    /// # Safety
    /// The caller must be [`crate::guard::walk`], with its own arguments. It may also be a walker
    /// that wraps this one. A wrapper may replace the context by any readable ucontext.
    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer;
}

/// The thread to walk, and where its walk begins.
#[derive(Debug)]
pub struct Subject<'t> {
    /// The JNIEnv of the thread to walk.
    pub env: *mut c_void,
    /// The ucontext of the instruction at which the walk begins.
    pub context: *mut c_void,
    /// True if the context is a caller's instead of the interrupted frame's. Its instruction
    /// pointer is then inside the call instruction, and the callees are missing from the stack.
    pub is_caller: bool,
    /// Where the walker stores what it reports besides the frames.
    pub info: &'t Cell<StackInfo>,
    /// The guard slot of this thread. It is 0, or during a walk the stack pointer to unwind to.
    pub walking: &'t AtomicUsize,
}

impl<'t> Subject<'t> {
    /// Makes the subject of a walk that begins where a thread was interrupted.
    pub fn interrupted(
        env: *mut c_void,
        context: *mut c_void,
        info: &'t Cell<StackInfo>,
        walking: &'t AtomicUsize,
    ) -> Self {
        Self { env, context, is_caller: false, info, walking }
    }
}

/// What a walker reports about a stack besides its frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StackInfo {
    pub resume_point: ResumePoint,
    /// Where frames are missing because the buffer was too small.
    pub cut: Option<Cut>,
}

/// The first complete frame that a walk found, below frames that are being built or removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// The address inside the call instruction of the first complete frame. It is 0 if that frame
    /// was interrupted.
    pub pc: usize,
    /// True if the stack has a younger frame than the first complete one. Such a frame is being
    /// built or removed.
    pub has_partial_leaf: bool,
}

/// Which frames of a walk belong to the thread itself instead of to its carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFrames {
    All,
    /// The first n frames belong to the thread. The others belong to the carrier of a virtual
    /// thread.
    First(u32),
    /// Frames are missing somewhere in the middle of the walk.
    Torn,
}

/// A buffer for `depth` frames and one more. The extra frame shows that a stack is deeper.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub frames: *mut RawFrame,
    pub depth: i32,
}

impl Room {
    /// Returns the room after this many frames, which must be no more than `depth`.
    #[must_use]
    pub fn after(self, frames: u32) -> Self {
        let depth = self.depth.wrapping_sub(frames.cast_signed());
        Self { frames: self.frames.wrapping_add(frames as usize), depth }
    }
}

/// A frame as a walker writes it, with the layout of AsyncGetCallTrace's `ASGCT_CallFrame`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct RawFrame {
    pub bci: i32,
    pub method: usize,
}

/// The number of u64 words that a frame takes in a lane, the ring that a handler writes to.
pub const FRAME_WORDS: usize = size_of::<RawFrame>() / size_of::<u64>();

const _: () = assert!(size_of::<RawFrame>() == 16 && align_of::<RawFrame>() == 8);

impl RawFrame {
    /// A frame that the walker has not written yet.
    pub const EMPTY: Self = Self { bci: 0, method: 0 };

    /// Decodes a frame from two words of a lane, the ring that a handler writes to.
    #[must_use]
    pub fn from_words([first, second]: [u64; FRAME_WORDS]) -> Self {
        // Walkers do not write the padding after the bci, so only the low half counts.
        #[expect(clippy::cast_possible_truncation, reason = "the low half; and a word is 64 bits here")]
        Self { bci: (first as u32).cast_signed(), method: second as usize }
    }
}

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("a frame's bci is read as the low half of a word of 64 bits: little-endian only");

/// Decodes a walker's frame. No other code does so.
impl From<RawFrame> for Frame {
    fn from(raw: RawFrame) -> Self {
        Self::new(MethodId(raw.method), raw.bci)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_decoded_from_two_words_without_its_padding() {
        let raw = RawFrame::from_words([0xdead_beef_0000_0011, 7]);
        assert_eq!(Frame::from(raw), Frame::Java { method: MethodId(7), bci: 17 });
        let native = RawFrame::from_words([u64::from((-3_i32).cast_unsigned()), u64::MAX]);
        assert_eq!(Frame::from(native), Frame::JavaNative { method: MethodId(usize::MAX) });
    }
}
