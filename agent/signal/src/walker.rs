//! AsyncGetCallTrace, the walker, as the JVM declares it, and what its answers mean.
//!
//! No JVM header has these types; they have been stable since JDK 5. A method id is an opaque number here and
//! everywhere: it is never dereferenced.

use core::ffi::c_void;

use crate::record::{CRASHED, NOT_SIGNALLED, STOPPED};

/// One frame of a walk, leaf first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Frame {
    /// The bci; [`NATIVE`] for a native method, -1 where the walker knows none.
    pub bci: i32,
    /// The `jmethodID`, as a number.
    pub method: usize,
}

/// What `Frame::bci` is for a native method.
pub const NATIVE: i32 = -3;

/// Words that a frame takes in a lane.
pub const FRAME_WORDS: usize = size_of::<Frame>() / size_of::<u64>();

const _: () = assert!(size_of::<Frame>() == 16 && align_of::<Frame>() == 8);

/// The walker's argument and answer in one.
#[derive(Debug)]
#[repr(C)]
pub struct CallTrace {
    pub env: *mut c_void,
    /// How many frames were written, or one of the negative codes.
    pub count: i32,
    pub frames: *mut Frame,
}

/// The walker: fills `trace` with at most `depth` frames of the thread whose context is given.
pub type AsyncGetCallTrace = unsafe extern "C" fn(trace: *mut CallTrace, depth: i32, context: *mut c_void);

/// The name that the JVM's sources give to the code of a walk without frames, or ours where there was no walk.
#[must_use]
pub fn code_name(count: i32) -> &'static str {
    match count {
        0 => "no_Java_frame",
        -1 => "no_class_load",
        -2 => "GC_active",
        -3 => "unknown_not_Java",
        -4 => "not_walkable_not_Java",
        -5 => "unknown_Java",
        -6 => "not_walkable_Java",
        -7 => "unknown_state",
        -8 => "thread_exit",
        -9 => "deopt",
        -10 => "safepoint",
        NOT_SIGNALLED => "not_signalled",
        CRASHED => "crashed",
        STOPPED => "stopped",
        _ => "unknown_code",
    }
}
