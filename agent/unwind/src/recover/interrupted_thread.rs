//! An interrupted thread as recovery strategies see it: its registers, the stack further out, its
//! JavaThread, and the code cache.
//!
//! Recovery must read nothing else. All functions here must run under the guard.

use core::ops::Range;

use crate::calls::follows_call;
use crate::code_cache::BlobKind;
use crate::context::Registers;
use crate::jvm_layout::JvmLayout;
use crate::memory::LiveMemory;
use crate::walker::Subject;

/// The number of words of the stack among which a saved return address is searched.
const MAX_SAVED_WORDS: usize = 64;

/// A thread that was interrupted, with the parts of it that recovery may read.
#[derive(Debug)]
pub struct InterruptedThread<'g> {
    pub at: Registers,
    /// The interrupted thread's link register. `None` on processors without one.
    link: Option<usize>,
    java_thread: usize,
    jvm: &'g JvmLayout,
    /// The addresses of the return barrier's code.
    barrier: Range<usize>,
    /// The addresses of the thread's stack, from the interrupted stack pointer outwards.
    stack: Range<usize>,
}

impl<'g> InterruptedThread<'g> {
    /// Describes a thread that was interrupted with these registers. The result is `None` if the
    /// thread is not on its own stack, or if AsyncGetCallTrace would ignore the context.
    ///
    /// # Safety
    /// The subject's JNIEnv must belong to the JVM that `jvm` describes.
    pub unsafe fn new(
        at: Registers,
        link: Option<usize>,
        subject: &Subject<'_>,
        jvm: &'g JvmLayout,
        barrier: Range<usize>,
    ) -> Option<Self> {
        let java_thread = (subject.env as usize).checked_sub(jvm.env)?;
        let thread = Self { at, link, java_thread, jvm, barrier, stack: 0..0 };
        let (base, size) = (thread.field(jvm.stack_base), thread.field(jvm.stack_size));
        let inside = at.sp < base && at.sp >= base.checked_sub(size)?;
        // With a complete JavaFrameAnchor AsyncGetCallTrace begins there and ignores the context.
        let fixed = thread.field(jvm.last_sp) != 0 && thread.field(jvm.last_pc) != 0;
        (inside && !fixed).then_some(Self { stack: at.sp..base, ..thread })
    }

    /// Returns the link register if it has the return address of the interrupted code. It must
    /// point into the JVM's code, and not into the code that made the call. If the stack also has
    /// the address, the code has pushed a frame since, so the stack pointer is not the caller's.
    pub fn link(&self) -> Option<usize> {
        let link = self.link?;
        let (here, _) = self.code(self.at.pc)?;
        let is_own =
            self.is_interpreter(self.at.pc) || self.code(link).is_some_and(|(caller, _)| caller == here);
        let word_at = |word: usize| self.at.sp.wrapping_add(word.wrapping_mul(size_of::<usize>()));
        let is_saved = || (0..MAX_SAVED_WORDS).any(|word| self.word(word_at(word)) == Some(link));
        (!is_own && !is_saved()).then_some(link)
    }

    /// True if the thread was interrupted in the code cache.
    pub fn is_in_code(&self) -> bool {
        self.code(self.at.pc).is_some()
    }

    /// Finds the code blob at an address, and its kind.
    fn code(&self, address: usize) -> Option<(usize, BlobKind)> {
        // SAFETY: all functions of this type run under the guard.
        self.jvm.code_cache.find(address, &unsafe { LiveMemory::guarded() })
    }

    /// Reads a word of the interrupted thread's stack. The result is `None` for any address outside
    /// of it.
    pub fn word(&self, address: usize) -> Option<usize> {
        let inside = self.is_stack(address) && address.is_multiple_of(size_of::<usize>());
        // SAFETY: the address is on the thread's own stack, at or above the interrupted stack
        // pointer, so it is mapped.
        inside.then(|| unsafe { (address as *const usize).read_volatile() })
    }

    /// True if the address may be the stack pointer of a frame further out.
    pub fn is_stack(&self, address: usize) -> bool {
        self.stack.contains(&address)
    }

    /// True if the address is in an nmethod that may be running. AsyncGetCallTrace must not be
    /// asked about dead ones.
    pub fn is_method(&self, address: usize) -> bool {
        self.code(address).is_some_and(|(_, kind)| kind == BlobKind::Nmethod)
    }

    /// True if a call instruction ends at this address. The interpreter's return addresses are
    /// return entries, which follow no call.
    pub fn follows_call(pc: usize) -> bool {
        // SAFETY: all functions of this type run under the guard.
        follows_call(&unsafe { LiveMemory::guarded() }, pc)
    }

    /// True if the address is in the return barrier. The walker can continue from there.
    pub fn is_barrier(&self, address: usize) -> bool {
        self.barrier.contains(&address)
    }

    /// True if the address is in the interpreter.
    pub fn is_interpreter(&self, address: usize) -> bool {
        self.jvm.interpreter.contains(&address)
    }

    /// Reads the thread's `_last_Java_sp` and `_last_Java_fp`, which are 0 while it is in Java.
    pub fn last_java_sp_and_fp(&self) -> (usize, usize) {
        (self.field(self.jvm.last_sp), self.field(self.jvm.last_fp))
    }

    fn field(&self, offset: usize) -> usize {
        // SAFETY: the JavaThread contains the JNIEnv, so it is valid. The JVM's tables contain the
        // offset of the field.
        unsafe { (self.java_thread.wrapping_add(offset) as *const usize).read_volatile() }
    }
}
