//! Our own walker: it reads frames, code blobs and debug information as HotSpot lays them out, and
//! calls nobody.
//!
//! Where AsyncGetCallTrace gives up, or finds what is not there, this is a second opinion: by
//! another way, from the same thread. It knows a frame that is whole, one that is just being made
//! or taken down, one whose code was given up under it, and the way from Java through the VM back
//! into Java. It never guesses: a frame is left as its code says, and a caller is one only where
//! the debug information has a call at exactly that address. Where that does not lead on, there is
//! no stack.
//!
//! * [`layout`] is where this JVM has what.
//! * [`walk`] walks, from the place where the thread was interrupted or has left Java to its first
//!   frame; [`stack`] is the memory that it reads frames from, and [`frame_state`] how it finds a
//!   frame.
//! * [`compiled`] and [`interpreted`] are the two kinds of frames with methods in them; [`method`]
//!   is how these are told.
//! * [`continuation`] is where a virtual thread's frames lie that are not on the stack, and
//!   [`heap`] how objects are read on the way there.
//! * [`mounted_vthread`] is whom a thread runs as.
//! * [`vframe_array`] is what stands there while code is being given up under a frame.
//! * [`call_site_cache`] is what spares a walk what it has found out already.
//! * [`processor`] is what depends on it: frames that are not whole, and the interpreter's.
//!
//! All of it reads [`Memory`] and nothing else, so that it can be tried on any words.
//!
//! # Invariants
//!
//! **Invariant 28.** A virtual thread's stack has no frame of its carrier. Nothing is taken from
//! the heap that may have been moved while it was read, or that is not what its class says. Held
//! by: `walk/src/hotspot/tests/chunks.rs`; `java-tests/profile/ParkedThreads.java`; the lab's
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
mod walk;
// The JVM that they write is one of x86-64: its code, and what is on its stack. Of others the
// instructions have tests, and the truth lab has all else.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use vouch_sample::{Answer, Reason};

use crate::code_cache::Blob;
use crate::context::{interpreting, registers};
use crate::guard;
use crate::memory::{Live, Memory};
use crate::walker::{Part, RawFrame, Room, Subject, Walker};
use continuation::ContinuationLayout;
use debug_info::DebugInfo;
use frames::Frames;
use jfr_vthread::JfrVthread;
use layout::{Layout, MethodLayout};
use mounted_vthread::{Name, Whom};
use walk::{Interrupted, Known};

pub use processor::{WALKS, slots};

/// The walker of that name.
#[derive(Debug)]
pub struct Own {
    layout: Layout,
    /// Where virtual threads have their frames; null until that is known.
    continuations: AtomicPtr<ContinuationLayout>,
    jfr_vthread: JfrVthread,
    /// It has said something else of a stack than the JVM: it walks no more.
    pub wrong: AtomicBool,
    /// Its faults would end the JVM: it does not walk.
    pub unguarded: AtomicBool,
}

impl Own {
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

    /// Where methods have what is read of them.
    pub fn methods(&self) -> MethodLayout {
        self.layout.method
    }

    /// Where the code blob of the compiled method around a pc begins; `None` for other code.
    pub fn nmethod_at(&self, memory: &impl Memory, pc: usize) -> Option<usize> {
        match self.layout.ground.blobs.find(pc, memory)? {
            (nmethod, Blob::Method) => Some(nmethod),
            (_, Blob::Dead | Blob::Other) => None,
        }
    }

    /// The debug information of a compiled method; `None` for a native method's wrapper.
    pub fn debug_info<'m, M: Memory>(&'m self, memory: &'m M, nmethod: usize) -> Option<DebugInfo<'m, M>> {
        DebugInfo::read(memory, &self.layout, nmethod)
    }

    /// From now on virtual threads' frames are found.
    pub fn know(&self, continuations: &'static ContinuationLayout) {
        self.continuations.store(core::ptr::from_ref(continuations).cast_mut(), Ordering::Release);
    }

    /// It does not walk.
    pub fn is_stopped(&self) -> bool {
        self.wrong.load(Ordering::Relaxed) || self.unguarded.load(Ordering::Relaxed)
    }

    /// How much of what another walker has written of a thread is that thread's own. Also where
    /// this one walks no more: it is told by the frames' methods alone.
    pub fn part(&self, frames: &[RawFrame]) -> Part {
        self.known().continuations.map_or(Part::All, |known| known.part(frames))
    }

    /// True for the frames of a virtual thread, if that is known of any.
    pub fn is_virtual(&self, frames: &[RawFrame]) -> bool {
        self.known().continuations.is_some_and(|known| known.is_first(frames.last().copied()))
    }

    /// Whom a thread runs as, and what that one is called; itself, where nothing is known of
    /// virtual threads, or nothing guards the look: what frames tell of it is for who has them.
    ///
    /// # Safety
    /// As for [`crate::guard::run`].
    pub unsafe fn whom(&self, subject: &Subject<'_>, name: &mut Name) -> Whom {
        let unguarded = self.unguarded.load(Ordering::Relaxed);
        let known = self.known().continuations.filter(|_| !unguarded);
        let Some((known, carried)) = known.and_then(|known| Some((known, known.carried?))) else {
            return Whom::Itself;
        };
        let thread = (subject.env as usize).wrapping_sub(self.layout.ground.env);
        let mut whom = Whom::Unknown;
        // SAFETY: by the caller's promise; nothing is held that would be left behind.
        unsafe {
            guard::run(subject, || {
                let memory = Live::guarded();
                let state = memory.int(thread.wrapping_add(self.layout.state));
                let in_java = state == Some(self.layout.in_java);
                whom = carried.whom(&known.heap, &memory, thread, in_java, name);
                // What a JavaThread adds to a Thread begins before its own handle.
                self.jfr_vthread.observe(&memory, thread, carried.own, whom);
                if whom == Whom::Unknown {
                    *name = Name { unread: true, ..Name::default() };
                    whom = self.jfr_vthread.whom(&memory, thread);
                }
            });
        }
        whom
    }

    fn known(&self) -> Known<'_> {
        // SAFETY: null, or what `know` was given, which lives for ever and never changes.
        let continuations = unsafe { self.continuations.load(Ordering::Acquire).as_ref() };
        Known { layout: &self.layout, continuations }
    }
}

// SAFETY: it only reads, under the guard, and writes what there is room for.
unsafe impl Walker for Own {
    fn runs_jvm(&self) -> bool {
        false
    }

    fn barrier(&self) -> Range<usize> {
        let known = self.known().continuations.filter(|_| !self.is_stopped());
        known.map_or(0..0, |known| known.barrier.clone())
    }

    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        if self.is_stopped() {
            return Err(Reason::STOPPED);
        }
        // SAFETY: the context is a ucontext, by the caller's promise; who calls is the guard.
        let (at, interpreting, memory) =
            unsafe { (registers(subject.context), interpreting(subject.context), Live::guarded()) };
        // SAFETY: room for so many frames, by the caller's promise.
        let mut frames = unsafe { Frames::of(room) };
        let interrupted = Interrupted { at, interpreting, calls: subject.calls };
        walk::walk(&memory, self.known(), subject.env as usize, interrupted, &mut frames)?;
        let (count, told) = frames.settle();
        subject.told.set(told);
        Ok(count)
    }
}
