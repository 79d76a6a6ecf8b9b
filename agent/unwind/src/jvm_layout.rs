//! Offsets in a JavaThread, and where the JVM's code is. Both recovery and Vouch's own walker need
//! them.

use core::ops::Range;

use crate::code_cache::CodeCache;

/// Offsets in a JavaThread, the code cache, and the interpreter's code.
#[derive(Debug, Clone)]
pub struct JvmLayout {
    /// Offset of the JNIEnv in a JavaThread.
    pub env: usize,
    /// Offset of `Thread::_stack_base`, the highest address of the stack.
    pub stack_base: usize,
    /// Offset of `Thread::_stack_size`, in bytes.
    pub stack_size: usize,
    /// Offset of `_last_Java_sp` in a JavaThread.
    pub last_sp: usize,
    /// Offset of `_last_Java_pc` in a JavaThread.
    pub last_pc: usize,
    /// Offset of `_last_Java_fp` in a JavaThread.
    pub last_fp: usize,
    /// The code heaps, and the offsets of fields in them.
    pub code_cache: CodeCache,
    /// The addresses of the interpreter's code.
    pub interpreter: Range<usize>,
}
