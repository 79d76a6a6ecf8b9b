//! The witness: GetStackTrace, and holding a thread still meanwhile.
//!
//! GetStackTrace makes the method ids that a walk may be lacking, so it must never be called before
//! the walk that it witnesses.

use std::mem::offset_of;

use jni_sys::jint;
use jvmti_sys::{jthread, jvmtiFrameInfo};
use vouch_sample::{Frame, MethodId};
use vouch_verify::witness::rules;

use super::jvmti::{Jvmti, Result, call};

/// A frame of a witness, as GetStackTrace writes it: the method id is a number here, as everywhere.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct StackFrame {
    pub method: MethodId,
    /// The bytecode index; -1 in a native method.
    pub location: i64,
}

impl StackFrame {
    /// As a walk would have it.
    pub fn frame(self) -> Frame {
        rules::of_witness(self.method, self.location)
    }
}

const _: () = assert!(
    size_of::<StackFrame>() == size_of::<jvmtiFrameInfo>()
        && offset_of!(StackFrame, location) == offset_of!(jvmtiFrameInfo, location)
);

/// A witness's first room; more is made for a deeper stack.
const FIRST_ROOM: usize = 256;

impl Jvmti {
    /// The stack of a thread, leaf first, written into `room`, which grows for it, but to no more
    /// than `most` frames: the thread stands still for as long as its stack is walked, and that may
    /// have a million. Gives the number of frames; `most` of them may not be all. Null is the
    /// calling thread. If the stack changes meanwhile its outermost frames may be lacking.
    pub fn stack_trace(self, thread: jthread, room: &mut Vec<StackFrame>, most: usize) -> Result<usize> {
        loop {
            let size = room.len().max(FIRST_ROOM).min(most);
            room.resize(room.len().max(size), StackFrame::default());
            let mut count = 0;
            call!(self, GetStackTrace(
                thread => jthread, 0 => jint, jint::try_from(size).unwrap_or(jint::MAX) => jint,
                room.as_mut_ptr().cast() => *mut jvmtiFrameInfo, &raw mut count => *mut jint))?;
            let count = usize::try_from(count).unwrap_or(0);
            if count < size || size == most {
                return Ok(count);
            }
            room.resize(size.saturating_mul(4).min(most), StackFrame::default());
        }
    }

    /// Stops a thread until it is resumed. It goes on where it is in native code, up to its return
    /// to Java.
    pub fn suspend(self, thread: jthread) -> Result<()> {
        call!(self, SuspendThread(thread => jthread))
    }

    /// Lets a suspended thread go on.
    pub fn resume(self, thread: jthread) -> Result<()> {
        call!(self, ResumeThread(thread => jthread))
    }
}
