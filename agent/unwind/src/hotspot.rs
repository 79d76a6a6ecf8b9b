//! Vouch's own walker. It reads frames, code blobs and debug information from HotSpot's memory, and
//! calls no code of the JVM.
//!
//! This walker gives a second opinion where AsyncGetCallTrace fails or returns wrong frames. It
//! handles complete frames, frames that are being built or removed, deoptimised frames, and calls
//! from Java through the VM to Java. It never guesses. A frame is unwound as its code prescribes,
//! and a caller is accepted only if its debug information has a call at exactly that address.
//! Otherwise the sample has no stack.
//!
//! * [`layout`] has the offsets of HotSpot's fields.
//! * [`walk`] walks from the interrupted frame or the last Java frame to the thread's first frame.
//!   [`stack`] is the memory of the frames, and [`frame_state`] says how a frame was found.
//! * [`compiled`] and [`interpreted`] are the two kinds of Java frames, and [`method`] reads their
//!   methods.
//! * [`continuation`] finds the frames of a virtual thread that are in the heap, and [`heap`] reads
//!   the objects on the way.
//! * [`waiting`] walks another thread, which waits, from its last Java frame.
//! * [`mounted_vthread`] reads which virtual thread a carrier runs, and [`jfr_vthread`] reads the
//!   same from JFR's fields.
//! * [`vframe_array`] finds the frames that are replacing a deoptimised frame.
//! * [`call_site_cache`] saves a walk from decoding a call site twice.
//! * [`processor`] has the parts that depend on the processor: incomplete frames, and the layout of
//!   interpreted frames.
//!
//! The walk reads only [`Memory`], so tests can run it on any words.
//!
//! # Invariants
//!
//! **Invariant 28.** A virtual thread's stack has no frame of its carrier. Nothing is taken from
//! the heap that may have been moved while it was read, or that is not what its class says. Held
//! by: `unwind/src/hotspot/tests/chunks.rs`; `java-tests/profile/ParkedThreads.java`; the lab's
//! `VirtualThreads`.

mod call_site_cache;
mod compiled;
pub mod continuation;
pub mod debug_info;
mod frame_state;
mod frames;
pub mod heap;
mod interpreted;
mod jfr_vthread;
pub mod layout;
pub mod method;
pub mod mounted_vthread;
mod processor;
mod stack;
mod vframe_array;
pub mod waiting;
mod walk;
// These tests build a JVM of x86-64, with its code and stack. For other processors the decoding of
// instructions has tests, and the truth lab tests the rest.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use vouch_sample::{Answer, MethodId, Reason};

use crate::code_cache::BlobKind;
use crate::context::{interpreter_registers, registers};
use crate::guard;
use crate::memory::{LiveMemory, Memory};
use crate::walker::{OwnFrames, RawFrame, Room, Subject, Walker};
use compiled::Compiled;
use continuation::ContinuationLayout;
use debug_info::DebugInfo;
use frames::Frames;
use jfr_vthread::JfrVthread;
use layout::{Layout, MethodLayout};
use mounted_vthread::{CurrentThread, VthreadName};
use walk::{Interrupted, Layouts};

pub use processor::{WALKS, slots};

/// The walker that options and reports call `own`. It reads HotSpot's memory.
#[derive(Debug)]
pub struct HotspotWalker {
    layout: Layout,
    /// The layout by which the walker finds virtual threads' frames. It is null until a virtual
    /// thread may exist.
    continuations: AtomicPtr<ContinuationLayout>,
    jfr_vthread: JfrVthread,
    /// True after a stack of this walker differed from the JVM's. The walker is then stopped.
    pub wrong: AtomicBool,
    /// True if the guard is not installed, so that a fault would end the JVM. The walker is then
    /// stopped.
    pub unguarded: AtomicBool,
}

impl HotspotWalker {
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            continuations: AtomicPtr::new(null_mut()),
            jfr_vthread: JfrVthread::default(),
            wrong: AtomicBool::new(false),
            unguarded: AtomicBool::new(false),
        }
    }

    /// Returns the offsets of fields in HotSpot's `Method`.
    pub fn methods(&self) -> MethodLayout {
        self.layout.method
    }

    /// Finds the nmethod that contains a pc. The result is `None` if the pc is in other code.
    pub fn nmethod_at(&self, memory: &impl Memory, pc: usize) -> Option<usize> {
        match self.layout.jvm.code_cache.find(pc, memory)? {
            (nmethod, BlobKind::Nmethod) => Some(nmethod),
            (_, BlobKind::Dead | BlobKind::Other) => None,
        }
    }

    /// Reads the debug information of an nmethod. The result is `None` for a native method's
    /// wrapper.
    pub fn debug_info<'m, M: Memory>(&'m self, memory: &'m M, nmethod: usize) -> Option<DebugInfo<'m, M>> {
        DebugInfo::read(memory, &self.layout, nmethod)
    }

    /// Returns the method of an nmethod, which all inlined methods of it are called by.
    pub fn method_of(&self, memory: &impl Memory, nmethod: usize) -> Option<MethodId> {
        let frame = Compiled::at(memory, &self.layout, nmethod)?.own_frame(memory, &self.layout)?;
        Some(MethodId(frame.method)).filter(|method| !method.is_none())
    }

    /// Returns the number of Java frames that an nmethod has at an address: its own method's, and
    /// those of the methods that are inlined there. The wrapper of a native method has one.
    pub fn frames_at(&self, memory: &impl Memory, nmethod: usize, address: usize) -> Option<usize> {
        if Compiled::at(memory, &self.layout, nmethod)?.is_native(memory, &self.layout)? {
            return Some(1);
        }
        self.debug_info(memory, nmethod)?.frames_at(address)
    }

    /// Sets the layout by which the walker finds virtual threads' frames.
    pub fn set_continuations(&self, continuations: &'static ContinuationLayout) {
        self.continuations.store(core::ptr::from_ref(continuations).cast_mut(), Ordering::Release);
    }

    /// True if Vouch's own walker is stopped, so that it walks nothing.
    pub fn is_stopped(&self) -> bool {
        self.wrong.load(Ordering::Relaxed) || self.unguarded.load(Ordering::Relaxed)
    }

    /// Returns which frames of another walker's stack belong to the thread itself instead of to its
    /// carrier. The result depends only on the frames' methods, so it is right even if this walker
    /// is stopped.
    pub fn own_frames(&self, frames: &[RawFrame]) -> OwnFrames {
        self.layouts().continuations.map_or(OwnFrames::All, |layout| layout.own_frames(frames))
    }

    /// True if the outermost frame is a virtual thread's first method.
    pub fn is_virtual(&self, frames: &[RawFrame]) -> bool {
        self.layouts().continuations.is_some_and(|layout| layout.is_first(frames.last().copied()))
    }

    /// Reads which Java thread a JavaThread runs, and its name. The result is `Itself` if no layout
    /// of virtual threads is known or no guard is installed.
    ///
    /// # Safety
    /// As for [`crate::guard::walk`], with the subject as the calling thread.
    pub unsafe fn current_thread(&self, subject: &Subject<'_>, name: &mut VthreadName) -> CurrentThread {
        let unguarded = self.unguarded.load(Ordering::Relaxed);
        let continuations = self.layouts().continuations.filter(|_| !unguarded);
        let layouts = continuations.and_then(|layout| Some((&layout.heap, layout.mounted?)));
        let Some((heap, mounted)) = layouts else {
            return CurrentThread::Itself;
        };
        let thread = (subject.env as usize).wrapping_sub(self.layout.jvm.env);
        let mut current = CurrentThread::Unknown;
        // SAFETY: the caller promised that the subject is the calling thread. The closure holds
        // nothing that has to be dropped.
        unsafe {
            guard::run(subject, || {
                let memory = LiveMemory::guarded();
                let state = memory.int(thread.wrapping_add(self.layout.state));
                let in_java = state == Some(self.layout.in_java);
                current = mounted.current_thread(heap, &memory, thread, in_java, name);
                // The fields that a JavaThread adds to a Thread begin before `_threadObj`.
                self.jfr_vthread.observe(&memory, thread, mounted.thread_obj, current);
                if current == CurrentThread::Unknown {
                    *name = VthreadName { unread: true, ..VthreadName::default() };
                    current = self.jfr_vthread.current_thread(&memory, thread);
                }
            });
        }
        current
    }

    fn layouts(&self) -> Layouts<'_> {
        // SAFETY: the pointer is null, or `set_continuations` stored it, and then it is 'static and
        // immutable.
        let continuations = unsafe { self.continuations.load(Ordering::Acquire).as_ref() };
        Layouts { layout: &self.layout, continuations }
    }
}

// SAFETY: the walk only reads, under the guard. `Frames` writes only as many frames as the buffer
// has room for.
unsafe impl Walker for HotspotWalker {
    fn runs_jvm(&self) -> bool {
        false
    }

    fn barrier(&self) -> Range<usize> {
        let continuations = self.layouts().continuations.filter(|_| !self.is_stopped());
        continuations.map_or(0..0, |layout| layout.barrier.clone())
    }

    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        if self.is_stopped() {
            return Err(Reason::STOPPED);
        }
        // SAFETY: the caller promised a ucontext, and the guard calls this function.
        let (at, interpreting, memory) = unsafe {
            (registers(subject.context), interpreter_registers(subject.context), LiveMemory::guarded())
        };
        // SAFETY: the caller promised that the buffer is as large as `room` says.
        let mut frames = unsafe { Frames::new(room) };
        let interrupted = Interrupted { at, interpreting, is_caller: subject.is_caller };
        walk::walk(&memory, self.layouts(), subject.env as usize, interrupted, &mut frames)?;
        let (count, info) = frames.finish();
        subject.info.set(info);
        Ok(count)
    }
}
