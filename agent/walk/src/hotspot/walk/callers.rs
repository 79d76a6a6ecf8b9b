//! From one frame to its caller.

use super::state::Walk;
use crate::calls::follows_call;
use crate::code_cache::Blob;
use crate::context::{CALL_PUSHES, Registers as Position};
use crate::hotspot::compiled::{Compiled, Which};
use crate::hotspot::frame_state::{FrameState, Shape};
use crate::hotspot::frames::Frames;
use crate::hotspot::interpreted::Interpreted;
use crate::hotspot::layout::{AnchorLayout, Number};
use crate::hotspot::processor::{prologue, shape, stub_shape};
use crate::hotspot::vframe_array::Unpacked;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();

/// Where to go on.
pub(super) enum Next {
    Caller(Position),
    /// Where the thread has left Java, as it has said.
    Left(Position),
    /// There is none: the thread's first.
    Nobody,
}

/// Whether a thread has left Java.
pub(super) enum Left {
    No,
    At(Position),
    /// It has, and has not said from where.
    Unsaid,
}

impl<M: Memory> Walk<'_, M> {
    /// Where a thread has left Java, by what it said of it.
    pub(super) fn left(&self, sp: Option<usize>, pc: Option<usize>, fp: Option<usize>) -> Left {
        let (Some(sp), Some(pc), Some(fp)) = (sp, pc, fp) else { return Left::Unsaid };
        if sp == 0 {
            return Left::No;
        }
        // Where it has not said the address, that is what the call has pushed.
        let pc = match pc {
            0 if CALL_PUSHES => self.stack.word(sp.wrapping_sub(WORD)),
            0 => None,
            pc => Some(pc),
        };
        pc.map_or(Left::Unsaid, |pc| Left::At(Position { pc, sp, fp }))
    }

    /// Adds what stands there, if it has methods, and says who called it. `None` if that cannot be
    /// told.
    pub(super) fn leave(&self, here: Position, state: FrameState, frames: &mut Frames<'_>) -> Option<Next> {
        let Self { memory, layout, stack, .. } = self;
        if let Some(size) = if state == FrameState::Caller { self.again.add(here.pc, frames) } else { None } {
            return self.sized(size, here);
        }
        if layout.ground.interpreter.contains(&here.pc) {
            let frame = Interpreted { memory: *memory, layout, stack, here };
            let left = frame.leave(state, self.interpreting, frames)?;
            self.whole.set(left.whole);
            return Some(Next::Caller(left.caller));
        }
        if matches!(state, FrameState::Caller | FrameState::UnverifiedCaller)
            && here.pc == layout.entry.returns
        {
            let holder = stack.word(here.fp.wrapping_sub(layout.entry.holder.wrapping_mul(WORD)))?;
            return self.anchor(holder.wrapping_add(layout.entry.anchor), &layout.anchor);
        }
        match layout.ground.blobs.find(here.pc, *memory)? {
            (_, Blob::Dead) => None,
            (blob, Blob::Method) => self.method(Compiled::at(*memory, layout, blob)?, here, state, frames),
            (blob, Blob::Other) => self.stub(blob, here, state, frames),
        }
    }

    /// Who called what began there.
    fn anchor(&self, anchor: usize, layout: &AnchorLayout) -> Option<Next> {
        let field = |offset: usize| self.stack.word(anchor.wrapping_add(offset));
        match self.left(field(layout.sp), field(layout.pc), field(layout.fp)) {
            Left::No => Some(Next::Nobody),
            Left::At(position) => Some(Next::Left(position)),
            Left::Unsaid => None,
        }
    }

    fn method(
        &self,
        method: Compiled,
        here: Position,
        state: FrameState,
        frames: &mut Frames<'_>,
    ) -> Option<Next> {
        let Self { memory, layout, .. } = self;
        let memory = *memory;
        let shape = match state {
            FrameState::Interrupted => self.shape(method.blob, method.verified(memory, layout)?, here.pc)?,
            FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller => Shape::Whole,
        };
        let is_native = method.is_native(memory, layout)?;
        if is_native && Number::int(layout.blob.frame_size).of(memory, method.blob)? == 0 {
            // What links a method handle to its method goes on there, and is nobody's frame.
            return self.sender(method.blob, here, Shape::Returning, state);
        }
        if is_native || shape != Shape::Whole {
            let sure = match state {
                // Before it is only compared with what was meant to be called.
                FrameState::Interrupted => here.pc >= method.verified(memory, layout)?,
                FrameState::LastJavaFrame => true,
                FrameState::Caller | FrameState::UnverifiedCaller => follows_call(memory, here.pc),
            };
            if !sure {
                return None;
            }
            method.add_itself(memory, layout, frames)?;
        } else {
            let (pc, which) = match state {
                // What is described there is what ends there: the instruction that is about to be
                // done ends later.
                FrameState::Interrupted => (here.pc.wrapping_add(1), Which::Next),
                FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller
                    if method.given_up(memory, &layout.compiled, here.pc) =>
                {
                    let original = Number::int(layout.compiled.original).of(memory, method.blob)?;
                    (self.stack.word(here.sp.wrapping_add(original))?, Which::Exact)
                }
                FrameState::UnverifiedCaller if follows_call(memory, here.pc) => (here.pc, Which::Next),
                FrameState::UnverifiedCaller => return None,
                FrameState::LastJavaFrame | FrameState::Caller => (here.pc, Which::Exact),
            };
            let first = frames.count();
            match method.scope(memory, &layout.compiled, pc, which)? {
                // Out of line, behind all that is described, such as a barrier's slow path. Where
                // it goes back to is found later.
                0 if which == Which::Next => method.add_itself(memory, layout, frames)?,
                0 => return None,
                scope => method.add(memory, layout, scope, frames)?,
            }
            self.whole.set(true);
            if state == FrameState::Caller {
                let size = Number::int(layout.blob.frame_size).of(memory, method.blob)?;
                self.again.remember(pc, size, first, frames);
                return self.sized(size, here);
            }
        }
        self.sender(method.blob, here, shape, state)
    }

    /// Where the thread has left Java that is being given other frames, and does not say so.
    pub(super) fn unpacked_from(&self, pc: Option<usize>, fp: Option<usize>) -> Option<Position> {
        let unpacked = Unpacked::of(self.memory, self.layout, &self.stack, self.thread)?;
        unpacked.left(pc?, fp?)
    }

    /// Code of the JVM's own.
    fn stub(&self, blob: usize, here: Position, state: FrameState, frames: &mut Frames<'_>) -> Option<Next> {
        let Self { memory, layout, .. } = self;
        let upcall =
            layout.upcall.filter(|upcall| memory.byte(blob.wrapping_add(upcall.kind)) == Some(upcall.upcall));
        if let Some(upcall) = upcall {
            let anchor = Number::int(upcall.anchor).of(*memory, blob)?;
            return if state == FrameState::Caller {
                self.anchor(here.sp.wrapping_add(anchor), &layout.anchor)
            } else {
                None
            };
        }
        let sized = Number::int(layout.blob.frame_size).of(*memory, blob)? > 0;
        let shape = match state {
            FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller if sized => {
                Shape::Whole
            }
            FrameState::Interrupted if sized => {
                let shape = self.shape(blob, layout.blob.code.of(*memory, blob)?, here.pc)?;
                // Its stack pointer moves while it saves registers, and while it takes them back.
                (shape != Shape::Whole).then_some(shape)?
            }
            FrameState::Interrupted => stub_shape(*memory, here.pc)?,
            FrameState::LastJavaFrame | FrameState::Caller | FrameState::UnverifiedCaller => return None,
        };
        let next = self.sender(blob, here, shape, state)?;
        if let (FrameState::LastJavaFrame, Next::Caller(caller)) = (state, &next)
            && let Some(unpacked) = Unpacked::of(*memory, layout, &self.stack, self.thread)
            && unpacked.is_made(caller.pc)
        {
            return unpacked.add(*caller, frames).map(Next::Caller);
        }
        Some(next)
    }

    /// How much of the frame there is that is made from `begin` on.
    fn shape(&self, blob: usize, begin: usize, pc: usize) -> Option<Shape> {
        let Self { memory, layout, .. } = self;
        let code = layout.blob.code.of(*memory, blob)?;
        let complete = layout.blob.complete.of(*memory, blob)?;
        if pc.checked_sub(code)? >= complete { shape(*memory, pc) } else { prologue(*memory, begin, pc) }
    }

    /// Who has called the frame of this blob.
    fn sender(&self, blob: usize, here: Position, shape: Shape, state: FrameState) -> Option<Next> {
        let Self { memory, layout, stack, .. } = self;
        let words = |words: usize| here.sp.wrapping_add(words.wrapping_mul(WORD));
        let size = || Number::int(layout.blob.frame_size).of(*memory, blob);
        let (end, fp) = match shape {
            Shape::Whole => return self.sized(size()?, here),
            Shape::Unsaved => (words(size()?), here.fp),
            Shape::Returning => (words(usize::from(CALL_PUSHES)), here.fp),
            Shape::Pushed => (words(2), stack.word(here.sp)?),
        };
        let pc = if CALL_PUSHES || shape == Shape::Pushed {
            stack.word(end.wrapping_sub(WORD))?
        } else {
            // The register is the interrupted frame's alone.
            (state == FrameState::Interrupted).then_some(self.interpreting.returns)?
        };
        Some(Next::Caller(Position { pc, sp: end, fp }))
    }

    /// Who has called a whole frame of so many words.
    fn sized(&self, size: usize, here: Position) -> Option<Next> {
        let sp = here.sp.wrapping_add(size.wrapping_mul(WORD));
        let word = |back: usize| self.stack.word(sp.wrapping_sub(back.wrapping_mul(WORD)));
        size.checked_sub(2)?;
        let fp = self.stack.link(sp.wrapping_sub(2_usize.wrapping_mul(WORD)))?;
        Some(Next::Caller(Position { pc: word(1)?, sp, fp }))
    }
}
