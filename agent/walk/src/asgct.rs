//! AsyncGetCallTrace, as the JVM declares it.
//!
//! No JVM header has these types; they have been stable since JDK 5.

use core::ffi::c_void;

use vouch_sample::{Answer, Cut, answer_of};

use crate::walker::{RawFrame, Room, Subject, Told, Walker};

/// Its argument and answer in one.
#[derive(Debug)]
#[repr(C)]
pub struct CallTrace {
    pub env: *mut c_void,
    /// How many frames were written, or one of the negative codes.
    pub count: i32,
    pub frames: *mut RawFrame,
}

/// The JVM's function: fills `trace` with at most `depth` frames of the thread whose context is
/// given.
pub type AsyncGetCallTrace = unsafe extern "C" fn(trace: *mut CallTrace, depth: i32, context: *mut c_void);

/// The walker of that name.
#[derive(Debug, Clone, Copy)]
pub struct Asgct(pub AsyncGetCallTrace);

// SAFETY: AsyncGetCallTrace is made for a handler, and is told how much room there is; what it says
// is cut to that.
unsafe impl Walker for Asgct {
    fn runs_jvm(&self) -> bool {
        true
    }

    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        let mut trace = CallTrace { env: subject.env, count: 0, frames: room.frames };
        // SAFETY: by the caller's promise: the thread's JNIEnv, room for `depth` frames and one
        // more, and a ucontext.
        unsafe { self.0(&raw mut trace, room.depth.saturating_add(1), subject.context) };
        // It goes no further, so nobody has counted them.
        let at = room.depth.max(0).cast_unsigned();
        let cut = (trace.count > room.depth).then_some(Cut { at, frames: 0 });
        subject.told.set(Told { cut, ..Told::default() });
        answer_of(trace.count.min(room.depth))
    }
}
