//! A thread as a strategy sees it: its registers, its stack from there outwards, its JavaThread,
//! and what is code.
//!
//! It must never read outside of these. To be used under the guard.

use core::ops::Range;

use crate::calls::follows_call;
use crate::code_cache::Blob;
use crate::context::Registers;
use crate::jvm_layout::Ground;
use crate::memory::Live;
use crate::walker::Subject;

/// A caller's place that was saved lies in so many words.
const SAVED: usize = 64;

/// A thread that was interrupted.
#[derive(Debug)]
pub struct Scene<'g> {
    pub at: Registers,
    link: Option<usize>,
    java_thread: usize,
    ground: &'g Ground,
    /// The code that frames return to whose callers lie elsewhere.
    barrier: Range<usize>,
    /// What of its stack lies further out than the place where it was interrupted.
    stack: Range<usize>,
}

impl<'g> Scene<'g> {
    /// The thread that was interrupted with these registers; `None` if it does not stand on its own
    /// stack, or no other context would change anything.
    ///
    /// # Safety
    /// The subject's JNIEnv must be of this JVM, whose ground it is.
    pub unsafe fn of(
        at: Registers,
        link: Option<usize>,
        subject: &Subject<'_>,
        ground: &'g Ground,
        barrier: Range<usize>,
    ) -> Option<Self> {
        let java_thread = (subject.env as usize).checked_sub(ground.env)?;
        let scene = Self { at, link, java_thread, ground, barrier, stack: 0..0 };
        let (base, size) = (scene.field(ground.stack_base), scene.field(ground.stack_size));
        let inside = at.sp < base && at.sp >= base.checked_sub(size)?;
        // Where a thread has said from where it left Java AsyncGetCallTrace begins there, whatever
        // the context.
        let fixed = scene.field(ground.last_sp) != 0 && scene.field(ground.last_pc) != 0;
        (inside && !fixed).then_some(Self { stack: at.sp..base, ..scene })
    }

    /// Where the last call returns to, if a register tells that, the thread was interrupted in code
    /// of the JVM's making, and that is not what has called. What has its caller on the stack has
    /// made a frame since, and stands elsewhere.
    pub fn link(&self) -> Option<usize> {
        let link = self.link?;
        let (here, _) = self.code(self.at.pc)?;
        let is_own =
            self.is_interpreter(self.at.pc) || self.code(link).is_some_and(|(caller, _)| caller == here);
        let place = |word: usize| self.at.sp.wrapping_add(word.wrapping_mul(size_of::<usize>()));
        let is_saved = || (0..SAVED).any(|word| self.word(place(word)) == Some(link));
        (!is_own && !is_saved()).then_some(link)
    }

    /// True if the thread was interrupted in code of the JVM's making.
    pub fn is_in_code(&self) -> bool {
        self.code(self.at.pc).is_some()
    }

    /// Whose code an address is in, and of which kind that is.
    fn code(&self, address: usize) -> Option<(usize, Blob)> {
        // SAFETY: a scene is to be used under the guard.
        self.ground.blobs.find(address, &unsafe { Live::guarded() })
    }

    /// A word of the thread's stack; `None` if there is none.
    pub fn word(&self, address: usize) -> Option<usize> {
        let inside = self.is_stack(address) && address.is_multiple_of(size_of::<usize>());
        // SAFETY: the thread's own stack, in which it was interrupted further in.
        inside.then(|| unsafe { (address as *const usize).read_volatile() })
    }

    /// True for what may be the stack pointer of a frame further out.
    pub fn is_stack(&self, address: usize) -> bool {
        self.stack.contains(&address)
    }

    /// True for what lies in the code of a method that may be running. Of one that was given up for
    /// good nothing may be asked.
    pub fn is_method(&self, address: usize) -> bool {
        self.code(address).is_some_and(|(_, kind)| kind == Blob::Method)
    }

    /// True if a call ends at this address of a method's code. (The interpreter's return addresses
    /// are entries of its own, behind no call.)
    pub fn follows_call(pc: usize) -> bool {
        // SAFETY: as above.
        follows_call(&unsafe { Live::guarded() }, pc)
    }

    /// True for the code that frames return to whose callers the walker finds elsewhere, and for
    /// where that goes on.
    pub fn is_barrier(&self, address: usize) -> bool {
        self.barrier.contains(&address)
    }

    /// True for what lies in the interpreter's.
    pub fn is_interpreter(&self, address: usize) -> bool {
        self.ground.interpreter.contains(&address)
    }

    /// The stack and the frame pointer that the thread has left Java with; 0 if it has not.
    pub fn left_java(&self) -> (usize, usize) {
        (self.field(self.ground.last_sp), self.field(self.ground.last_fp))
    }

    fn field(&self, offset: usize) -> usize {
        // SAFETY: the thread's JavaThread lives as long as its JNIEnv, and the offset is from the
        // JVM's own tables.
        unsafe { (self.java_thread.wrapping_add(offset) as *const usize).read_volatile() }
    }
}
