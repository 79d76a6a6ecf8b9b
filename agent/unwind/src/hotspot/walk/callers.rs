//! Unwinds one frame: finds its methods and its caller.

use super::state::Walk;
use crate::calls::follows_call;
use crate::code_cache::BlobKind;
use crate::context::{CALL_PUSHES, Registers as Position};
use crate::hotspot::compiled::{Compiled, PcDescMatch};
use crate::hotspot::frame_state::{FrameState, Shape};
use crate::hotspot::frames::Frames;
use crate::hotspot::interpreted::Interpreted;
use crate::hotspot::layout::{AnchorLayout, BlobField};
use crate::hotspot::processor::{body_shape, prologue_shape, stub_shape};
use crate::hotspot::vframe_array::VframeArray;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();

/// The frame with which a walk continues.
pub(super) enum NextFrame {
    /// The frame's caller, which the walk has found.
    Caller(Position),
    /// The last Java frame, which a `JavaFrameAnchor` has recorded.
    LastJavaFrame(Position),
    /// The frame is the thread's first, so it has no caller.
    None,
}

/// The content of a `JavaFrameAnchor`.
pub(super) enum LastJavaFrame {
    /// The anchor is clear: the thread has not left Java.
    None,
    At(Position),
    /// The thread has left Java, but the pc is unknown.
    NoPc,
}

impl<M: Memory> Walk<'_, M> {
    /// Interprets the fields of a `JavaFrameAnchor`.
    pub(super) fn last_java_frame(
        &self,
        sp: Option<usize>,
        pc: Option<usize>,
        fp: Option<usize>,
    ) -> LastJavaFrame {
        let (Some(sp), Some(pc), Some(fp)) = (sp, pc, fp) else { return LastJavaFrame::NoPc };
        if sp == 0 {
            return LastJavaFrame::None;
        }
        // An anchor without a pc means that the call has pushed the pc.
        let pc = match pc {
            0 if CALL_PUSHES => self.stack.word(sp.wrapping_sub(WORD)),
            0 => None,
            pc => Some(pc),
        };
        pc.map_or(LastJavaFrame::NoPc, |pc| LastJavaFrame::At(Position { pc, sp, fp }))
    }

    /// Adds the methods of a frame, if it has any, and finds its caller. The result is `None` if
    /// the frame cannot be unwound.
    pub(super) fn unwind(
        &self,
        here: Position,
        state: FrameState,
        frames: &mut Frames<'_>,
    ) -> Option<NextFrame> {
        let Self { memory, layout, stack, .. } = self;
        if let Some(size) =
            if state == FrameState::Caller { self.call_sites.add(here.pc, frames) } else { None }
        {
            return self.sender_by_size(size, here);
        }
        if layout.jvm.interpreter.contains(&here.pc) {
            let frame = Interpreted { memory: *memory, layout, stack, here };
            let unwound = frame.unwind(state, self.interpreting, frames)?;
            self.whole.set(unwound.whole);
            return Some(NextFrame::Caller(unwound.caller));
        }
        if matches!(state, FrameState::Caller | FrameState::UnverifiedCaller)
            && here.pc == layout.call_stub.return_address
        {
            let holder =
                stack.word(here.fp.wrapping_sub(layout.call_stub.wrapper_slot.wrapping_mul(WORD)))?;
            return self.caller_from_anchor(holder.wrapping_add(layout.call_stub.anchor), &layout.anchor);
        }
        match layout.jvm.code_cache.find(here.pc, *memory)? {
            (_, BlobKind::Dead) => None,
            (blob, BlobKind::Nmethod) => {
                self.unwind_nmethod(Compiled::at(*memory, layout, blob)?, here, state, frames)
            }
            (blob, BlobKind::Other) => self.unwind_stub(blob, here, state, frames),
        }
    }

    /// Finds the Java caller of a frame that the VM or a foreign function called. A
    /// `JavaFrameAnchor` has recorded it.
    fn caller_from_anchor(&self, anchor: usize, layout: &AnchorLayout) -> Option<NextFrame> {
        let field = |offset: usize| self.stack.word(anchor.wrapping_add(offset));
        match self.last_java_frame(field(layout.sp), field(layout.pc), field(layout.fp)) {
            LastJavaFrame::None => Some(NextFrame::None),
            LastJavaFrame::At(position) => Some(NextFrame::LastJavaFrame(position)),
            LastJavaFrame::NoPc => None,
        }
    }

    /// Adds the methods of an nmethod's frame, and finds its caller.
    fn unwind_nmethod(
        &self,
        method: Compiled,
        here: Position,
        state: FrameState,
        frames: &mut Frames<'_>,
    ) -> Option<NextFrame> {
        let Self { memory, layout, .. } = self;
        let memory = *memory;
        let shape = match state {
            FrameState::Interrupted => {
                self.frame_shape(method.blob, method.verified_entry_point(memory, layout)?, here.pc)?
            }
            FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller => Shape::Whole,
        };
        let is_native = method.is_native(memory, layout)?;
        if is_native && BlobField::int(layout.blob.frame_size).read(memory, method.blob)? == 0 {
            // Intrinsics that link a method handle jump to the method and have no frame.
            return self.sender(method.blob, here, Shape::Returning, state);
        }
        if is_native || shape != Shape::Whole {
            let is_this_method = match state {
                // Before the verified entry point the method may be the wrong one.
                FrameState::Interrupted => here.pc >= method.verified_entry_point(memory, layout)?,
                FrameState::LastJavaFrame => true,
                FrameState::Caller | FrameState::UnverifiedCaller => follows_call(memory, here.pc),
            };
            if !is_this_method {
                return None;
            }
            method.push_method(memory, layout, frames)?;
        } else {
            let (pc, which) = match state {
                // A PcDesc describes the instruction that ends at its pc. The interrupted
                // instruction ends later.
                FrameState::Interrupted => (here.pc.wrapping_add(1), PcDescMatch::Next),
                FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller
                    if method.is_deopt_handler(memory, &layout.compiled, here.pc) =>
                {
                    let original =
                        BlobField::int(layout.compiled.orig_pc_offset).read(memory, method.blob)?;
                    (self.stack.word(here.sp.wrapping_add(original))?, PcDescMatch::Exact)
                }
                FrameState::UnverifiedCaller if follows_call(memory, here.pc) => (here.pc, PcDescMatch::Next),
                FrameState::UnverifiedCaller => return None,
                FrameState::LastJavaFrame | FrameState::Caller => (here.pc, PcDescMatch::Exact),
            };
            let first = frames.count();
            match method.find_scope(memory, &layout.compiled, pc, which)? {
                // The pc is out of line, after all PcDescs, such as in a barrier's slow path. A
                // later stage finds the bci that it returns to.
                0 if which == PcDescMatch::Next => method.push_method(memory, layout, frames)?,
                0 => return None,
                scope => method.push_scope(memory, layout, scope, frames)?,
            }
            self.whole.set(true);
            if state == FrameState::Caller {
                let size = BlobField::int(layout.blob.frame_size).read(memory, method.blob)?;
                self.call_sites.remember(pc, size, first, frames);
                return self.sender_by_size(size, here);
            }
        }
        self.sender(method.blob, here, shape, state)
    }

    /// Finds the last Java frame of a thread with a clear anchor, while its deoptimised frame is
    /// being replaced.
    pub(super) fn last_java_frame_of_deopt(&self, pc: Option<usize>, fp: Option<usize>) -> Option<Position> {
        let vframe_array = VframeArray::from_thread(self.memory, self.layout, &self.stack, self.thread)?;
        vframe_array.unpacker_frame(pc?, fp?)
    }

    /// Finds the caller of a frame of a stub or of another blob of the JVM.
    fn unwind_stub(
        &self,
        blob: usize,
        here: Position,
        state: FrameState,
        frames: &mut Frames<'_>,
    ) -> Option<NextFrame> {
        let Self { memory, layout, .. } = self;
        let upcall = layout
            .upcall
            .filter(|upcall| memory.byte(blob.wrapping_add(upcall.kind_offset)) == Some(upcall.upcall_kind));
        if let Some(upcall) = upcall {
            let anchor = BlobField::int(upcall.frame_data_offset).read(*memory, blob)?;
            return if state == FrameState::Caller {
                self.caller_from_anchor(here.sp.wrapping_add(anchor), &layout.anchor)
            } else {
                None
            };
        }
        let has_size = BlobField::int(layout.blob.frame_size).read(*memory, blob)? > 0;
        let shape = match state {
            FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller if has_size => {
                Shape::Whole
            }
            FrameState::Interrupted if has_size => {
                let shape = self.frame_shape(blob, layout.blob.code_begin.read(*memory, blob)?, here.pc)?;
                // Inside its body a stub moves its stack pointer while it saves and restores
                // registers.
                (shape != Shape::Whole).then_some(shape)?
            }
            FrameState::Interrupted => stub_shape(*memory, here.pc)?,
            FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller => return None,
        };
        let next = self.sender(blob, here, shape, state)?;
        if let (FrameState::LastJavaFrame, NextFrame::Caller(caller)) = (state, &next)
            && let Some(vframe_array) = VframeArray::from_thread(*memory, layout, &self.stack, self.thread)
            && vframe_array.is_skeleton_frame(caller.pc)
        {
            return vframe_array.push_frames(*caller, frames).map(NextFrame::Caller);
        }
        Some(next)
    }

    /// Finds how much of the interrupted frame exists. The code that builds the frame begins at
    /// `begin`.
    fn frame_shape(&self, blob: usize, begin: usize, pc: usize) -> Option<Shape> {
        let Self { memory, layout, .. } = self;
        let code = layout.blob.code_begin.read(*memory, blob)?;
        let complete = layout.blob.frame_complete.read(*memory, blob)?;
        if pc.checked_sub(code)? >= complete {
            body_shape(*memory, pc)
        } else {
            prologue_shape(*memory, begin, pc)
        }
    }

    /// Finds the caller of a frame with code in the blob `blob`.
    fn sender(&self, blob: usize, here: Position, shape: Shape, state: FrameState) -> Option<NextFrame> {
        let Self { memory, layout, stack, .. } = self;
        let words = |words: usize| here.sp.wrapping_add(words.wrapping_mul(WORD));
        let size = || BlobField::int(layout.blob.frame_size).read(*memory, blob);
        let (end, fp) = match shape {
            Shape::Whole => return self.sender_by_size(size()?, here),
            Shape::Unsaved => (words(size()?), here.fp),
            Shape::Returning => (words(usize::from(CALL_PUSHES)), here.fp),
            Shape::Pushed => (words(2), stack.word(here.sp)?),
        };
        let pc = if CALL_PUSHES || shape == Shape::Pushed {
            stack.word(end.wrapping_sub(WORD))?
        } else {
            // Only the interrupted frame has its return address in the link register.
            (state == FrameState::Interrupted).then_some(self.interpreting.return_address)?
        };
        Some(NextFrame::Caller(Position { pc, sp: end, fp }))
    }

    /// Finds the caller of a complete frame that has `size` words.
    fn sender_by_size(&self, size: usize, here: Position) -> Option<NextFrame> {
        let sp = here.sp.wrapping_add(size.wrapping_mul(WORD));
        let word = |back: usize| self.stack.word(sp.wrapping_sub(back.wrapping_mul(WORD)));
        size.checked_sub(2)?;
        let fp = self.stack.link(sp.wrapping_sub(2_usize.wrapping_mul(WORD)))?;
        Some(NextFrame::Caller(Position { pc: word(1)?, sp, fp }))
    }
}
