//! Where a thread's stack and its last Java frame are found, and whose code lies where.

use core::ops::Range;

use crate::code_cache::Blobs;

/// Where things lie in this JVM: offsets in a JavaThread, and code.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Of its JNIEnv.
    pub env: usize,
    /// Of the end of its stack that the thread began at, and of the stack's size.
    pub stack_base: usize,
    pub stack_size: usize,
    /// Of the registers that it left Java with.
    pub last_sp: usize,
    pub last_pc: usize,
    pub last_fp: usize,
    /// Whose code lies where, and where the interpreter's.
    pub blobs: Blobs,
    pub interpreter: Range<usize>,
}
