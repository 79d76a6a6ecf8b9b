//! JVMTI's functions for the witness: GetStackTrace, SuspendThread and ResumeThread.
//!
//! GetStackTrace creates method ids that a walk may lack, so it must never be called before the
//! walk that it witnesses.

use std::mem::offset_of;

use jni_sys::jint;
use jvmti_sys::{jthread, jvmtiFrameInfo};
use vouch_sample::{Frame, MethodId};
use vouch_verify::witness::rules;

use super::jvmti::{Jvmti, Result, call};

/// A frame as GetStackTrace writes it. The method id is a number, as everywhere in the agent.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct StackFrame {
    pub method: MethodId,
    /// The bytecode index; -1 in a native method.
    pub location: i64,
}

impl StackFrame {
    /// Converts the frame to that of a walk.
    pub fn frame(self) -> Frame {
        rules::frame_from_witness(self.method, self.location)
    }
}

const _: () = assert!(
    size_of::<StackFrame>() == size_of::<jvmtiFrameInfo>()
        && offset_of!(StackFrame, location) == offset_of!(jvmtiFrameInfo, location)
);

/// The initial capacity for a stack, in frames. It grows for a deeper stack.
const INITIAL_FRAMES: usize = 256;

impl Jvmti {
    /// Writes the stack of a thread into `buffer`, leaf first, and returns the number of frames. If
    /// `thread` is null, it is the calling thread.
    ///
    /// `buffer` grows up to `max_frames`; a stack of that length may be cut. The limit is needed
    /// because a stack may have a million frames, and the thread is stopped while it is walked. If
    /// the stack changes between two calls, its outermost frames may be missing.
    pub fn stack_trace(
        self,
        thread: jthread,
        buffer: &mut Vec<StackFrame>,
        max_frames: usize,
    ) -> Result<usize> {
        loop {
            let size = buffer.len().max(INITIAL_FRAMES).min(max_frames);
            buffer.resize(buffer.len().max(size), StackFrame::default());
            let mut count = 0;
            call!(self, GetStackTrace(
                thread => jthread, 0 => jint, jint::try_from(size).unwrap_or(jint::MAX) => jint,
                buffer.as_mut_ptr().cast() => *mut jvmtiFrameInfo, &raw mut count => *mut jint))?;
            let count = usize::try_from(count).unwrap_or(0);
            if count < size || size == max_frames {
                return Ok(count);
            }
            buffer.resize(size.saturating_mul(4).min(max_frames), StackFrame::default());
        }
    }

    /// Suspends a thread until it is resumed. A thread in native code runs on until it returns to
    /// Java.
    pub fn suspend(self, thread: jthread) -> Result<()> {
        call!(self, SuspendThread(thread => jthread))
    }

    /// Resumes a suspended thread.
    pub fn resume(self, thread: jthread) -> Result<()> {
        call!(self, ResumeThread(thread => jthread))
    }
}
