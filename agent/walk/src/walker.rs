//! What every walker is: it writes the frames of one thread into the room that it is given, leaf
//! first, or says why not.
//!
//! Frames are written as AsyncGetCallTrace writes them, so that they can lie in a lane as they
//! came; one decoder turns them into [`Frame`]s. A walker must never do what a signal handler may
//! not.

use core::cell::Cell;
use core::ffi::c_void;
use core::fmt::Debug;
use core::ops::Range;
use core::sync::atomic::AtomicUsize;

use vouch_sample::{Answer, Cut, Frame, MethodId};

/// A walker, whoever it asks.
///
/// # Safety
/// It must write no more frames than there is room for, and have written as many as it says; and it
/// must do nothing that a handler of a signal may not, since it can be left anywhere.
pub unsafe trait Walker: Debug + Sync {
    /// True if it runs the JVM's own code, which a walk that is ended leaves halfway.
    fn runs_jvm(&self) -> bool;

    /// The code that frames return to whose callers lie elsewhere, if it finds them there; empty if
    /// it knows of none.
    fn barrier(&self) -> Range<usize> {
        0..0
    }

    /// Walks the thread.
    ///
    /// # Safety
    /// To be called by [`crate::guard::walk`] with what that was called with; or by a walker that
    /// wraps this one, which may put any ucontext that can be read in the place of the context.
    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer;
}

/// The thread to be walked, and where it stands.
#[derive(Debug)]
pub struct Subject<'t> {
    /// Its JNIEnv.
    pub env: *mut c_void,
    /// The ucontext of the instruction that it was interrupted at.
    pub context: *mut c_void,
    /// It was not interrupted there: what it has called is left out, and its instruction pointer is
    /// within the call.
    pub calls: bool,
    /// For the walker to say more of a stack that it has found.
    pub told: &'t Cell<Told>,
    /// The guard's place for this thread: 0, or while it walks where its stack is to be unwound to.
    pub walking: &'t AtomicUsize,
}

impl<'t> Subject<'t> {
    /// A thread that stands where it was interrupted.
    pub fn interrupted(
        env: *mut c_void,
        context: *mut c_void,
        told: &'t Cell<Told>,
        walking: &'t AtomicUsize,
    ) -> Self {
        Self { env, context, calls: false, told, walking }
    }
}

/// What there is to say of a stack besides its frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    pub outset: Outset,
    /// Where frames are lacking for want of room.
    pub cut: Option<Cut>,
}

/// Where a walk met its first whole frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outset {
    /// In that frame's code, within the call that it has made; 0 if it is the interrupted one.
    pub pc: usize,
    /// There is a frame before it, which is just being made or taken down.
    pub before: bool,
}

/// How much of a stack is its thread's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// So many frames: what comes after is the carrier's of a virtual thread.
    First(u32),
    /// Between two of its frames others are lacking.
    Torn,
}

/// Room for so many frames, and for one more: by that it is known of a stack that it is deeper.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub frames: *mut RawFrame,
    pub depth: i32,
}

/// A frame as a walker writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct RawFrame {
    pub bci: i32,
    pub method: usize,
}

/// Words that a frame takes in a lane.
pub const FRAME_WORDS: usize = size_of::<RawFrame>() / size_of::<u64>();

const _: () = assert!(size_of::<RawFrame>() == 16 && align_of::<RawFrame>() == 8);

impl RawFrame {
    /// Room for a frame.
    pub const EMPTY: Self = Self { bci: 0, method: 0 };

    /// The frame that lies in these two words.
    #[must_use]
    pub fn of_words([first, second]: [u64; FRAME_WORDS]) -> Self {
        // The walker leaves the padding behind the bci as it was: only the low half counts.
        #[expect(clippy::cast_possible_truncation, reason = "the low half; and a word is 64 bits here")]
        Self { bci: (first as u32).cast_signed(), method: second as usize }
    }
}

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("a frame's bci is read as the low half of a word of 64 bits: little-endian only");

/// The one decoder.
impl From<RawFrame> for Frame {
    fn from(raw: RawFrame) -> Self {
        Self::of(MethodId(raw.method), raw.bci)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_out_of_its_words_as_the_walker_wrote_it() {
        let raw = RawFrame::of_words([0xdead_beef_0000_0011, 7]);
        assert_eq!(Frame::from(raw), Frame::Java { method: MethodId(7), bci: 17 });
        let native = RawFrame::of_words([u64::from((-3_i32).cast_unsigned()), u64::MAX]);
        assert_eq!(Frame::from(native), Frame::Native { method: MethodId(usize::MAX) });
    }
}
