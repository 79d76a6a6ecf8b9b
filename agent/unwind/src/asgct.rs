//! A walker that gets its frames from HotSpot's function AsyncGetCallTrace.
//!
//! No JVM header declares the types of AsyncGetCallTrace. They have been stable since JDK 5.

use core::ffi::c_void;

use vouch_sample::{Answer, Cut, answer_from_number};

use crate::walker::{RawFrame, Room, StackInfo, Subject, Walker};

/// HotSpot's `ASGCT_CallTrace`: it passes the thread and a buffer to AsyncGetCallTrace, and has the
/// result afterwards.
#[derive(Debug)]
#[repr(C)]
pub struct CallTrace {
    pub env: *mut c_void,
    /// The number of frames that AsyncGetCallTrace found, or its negative error code.
    pub count: i32,
    pub frames: *mut RawFrame,
}

/// The type of the JVM's function AsyncGetCallTrace. It fills `trace` with at most `depth` frames
/// of the thread that was interrupted with `context`.
pub type AsyncGetCallTrace = unsafe extern "C" fn(trace: *mut CallTrace, depth: i32, context: *mut c_void);

/// The walker that calls AsyncGetCallTrace.
#[derive(Debug, Clone, Copy)]
pub struct Asgct(pub AsyncGetCallTrace);

// SAFETY: AsyncGetCallTrace is made for signal handlers, and it gets the size of the buffer as its
// depth. The count that it returns is cut to that size.
unsafe impl Walker for Asgct {
    fn runs_jvm(&self) -> bool {
        true
    }

    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        let mut trace = CallTrace { env: subject.env, count: 0, frames: room.frames };
        // SAFETY: the caller passed the thread's JNIEnv, a ucontext, and a buffer for one frame
        // more than `depth`.
        unsafe { self.0(&raw mut trace, room.depth.saturating_add(1), subject.context) };
        // AsyncGetCallTrace stops at the depth, so the number of missing frames is unknown.
        let at = room.depth.max(0).cast_unsigned();
        let cut = (trace.count > room.depth).then_some(Cut { at, missing: 0 });
        subject.info.set(StackInfo { cut, ..StackInfo::default() });
        answer_from_number(trace.count.min(room.depth))
    }
}
