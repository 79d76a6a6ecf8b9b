//! A frame of the interpreter: its parts lie at fixed distances from its frame pointer.
//!
//! While a method is entered or left its frame is not there, and the frame pointer is a caller's:
//! of the next interpreted one, however many compiled ones are in between. It must never take that
//! for the method that is on top. What tells them apart is a slot that has a word for as long as
//! the frame's method has called another one.

use vouch_sample::{ENTRY, NATIVE};

use super::frame_state::FrameState;
use super::frames::Frames;
use super::layout::Layout;
use super::method::Method;
use super::processor::{lacks_sender, leaves, slots};
use super::stack::Stack;
use crate::calls::follows_call;
use crate::code_cache::Blob;
use crate::context::{CALL_PUSHES, Interpreting, Registers};
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// A caller's stack ends where its callee's begins, but for what it was called with, and for what a
/// method handle takes away.
const NEAR: usize = 1 << 12;

/// A frame that was left.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    pub caller: Registers,
    /// It was all there.
    pub whole: bool,
}

/// A frame of the interpreter, or where there may be one.
#[derive(Debug)]
pub struct Interpreted<'w, M> {
    pub memory: &'w M,
    pub layout: &'w Layout,
    pub stack: &'w Stack<'w, M>,
    pub here: Registers,
}

impl<M: Memory> Interpreted<'_, M> {
    /// Adds the frame, and says where its caller stands. What the registers have is told where the
    /// thread was interrupted there.
    pub fn leave(&self, state: FrameState, live: Interpreting, frames: &mut Frames<'_>) -> Option<Left> {
        let entries = &self.layout.interpreter.entries;
        match state {
            FrameState::Interrupted if entries.contains(&self.here.pc) && self.calls() => {
                self.entered(live, frames)
            }
            FrameState::Interrupted if self.calls() && !self.is_coming_or_going(live) => self.left(live),
            // Neither of its slots is its own yet.
            FrameState::Interrupted
                if entries.contains(&self.here.pc) && lacks_sender(self.memory, self.here.pc) =>
            {
                None
            }
            // Where calls leave nothing on the stack the register still has the callee's place,
            // until it is taken back.
            FrameState::Interrupted if !CALL_PUSHES && self.is_returned_to() => self.whole(None, frames),
            FrameState::Interrupted => self.whole(Some(live), frames),
            FrameState::LastJavaFrame => self.whole(None, frames),
            // Only where calls come back.
            FrameState::Caller | FrameState::UnverifiedCaller if self.has_called()? => {
                self.whole(None, frames)
            }
            FrameState::Caller | FrameState::UnverifiedCaller => None,
        }
    }

    fn slot(&self, words: usize) -> Option<usize> {
        self.stack.word(self.here.fp.wrapping_sub(words.wrapping_mul(WORD)))
    }

    /// The frame's method has called another one. One that is just being made has not, and has no
    /// such slot yet.
    fn calls(&self) -> bool {
        self.slot(slots::LAST_SP) != Some(0) || self.slot(slots::METHOD).is_none()
    }

    /// The frame's method is about to go to another one, whose caller's stack pointer is ready; or
    /// has come back from there.
    fn is_coming_or_going(&self, live: Interpreting) -> bool {
        self.is_returned_to() || CALL_PUSHES && live.bytecode == self.here.sp.wrapping_add(WORD)
    }

    fn is_returned_to(&self) -> bool {
        self.layout.interpreter.is_returned_to(self.here.pc)
    }

    /// The frame's method has called another one, and that with its stack where the callee says.
    fn has_called(&self) -> Option<bool> {
        let Registers { sp, fp, .. } = self.here;
        let word = self.slot(slots::LAST_SP)?;
        // Since JDK 22 in words, from the frame pointer down.
        let relative = fp.wrapping_add(word.wrapping_mul(WORD));
        let last = if word.cast_signed() < 0 { relative } else { word };
        let near = last <= fp && last.saturating_add(NEAR) > sp && last < sp.saturating_add(NEAR);
        Some(self.is_returned_to() && word != 0 && near)
    }

    fn whole(&self, live: Option<Interpreting>, frames: &mut Frames<'_>) -> Option<Left> {
        let Self { memory, layout, stack, here } = *self;
        let method = Method::at(memory, &layout.method, self.slot(slots::METHOD)?)?;
        let current = live.and_then(|live| method.bci(memory, &layout.method, live.bytecode));
        let bci = match current {
            _ if method.is_native(memory, &layout.method)? => NATIVE,
            Some(bci) => bci,
            // Where it was when it last called somebody, or came back.
            None => method.bci(memory, &layout.method, self.slot(layout.interpreter.bytecode)?)?,
        };
        frames.push(method.frame(memory, &layout.method, bci)?);
        let pc = stack.word(here.fp.wrapping_add(WORD))?;
        let sender = stack.place(self.slot(slots::SENDER)?, here.fp);
        // Where an interpreted caller has the stack pointer behind all that it may ever need, it
        // takes it back to call: what it has saved lies in its callee's frame.
        let saved = !CALL_PUSHES && layout.interpreter.is_returned_to(pc);
        let least = if saved { here.fp.wrapping_add(2 * WORD) } else { 0 };
        let caller = Registers { pc, sp: sender.max(least), fp: stack.link(here.fp)? };
        // What it was called with may lie above its own frame's end.
        (here.fp >= here.sp && caller.sp > here.fp).then_some(Left { caller, whole: true })
    }

    /// A method that is being entered. Its frame's return address is on top, or taken off to make
    /// room for its locals.
    fn entered(&self, live: Interpreting, frames: &mut Frames<'_>) -> Option<Left> {
        let Self { memory, layout, stack, here } = *self;
        let method = Method::at(memory, &layout.method, live.method)?;
        if !CALL_PUSHES {
            let caller = self.linked(live)?;
            // The frame may be its own already, or one of the same method that has called it from
            // the same place.
            let either = self.slot(slots::METHOD) == Some(live.method)
                && stack.word(here.fp.wrapping_add(WORD)) == Some(live.returns);
            if either {
                return None;
            }
            frames.push(method.frame(memory, &layout.method, ENTRY)?);
            return Some(caller);
        }
        // The frame pointer is its own already, and less is kept there than the method. (Where it
        // returns to tells nothing by itself: its caller may well return to the same place.)
        let begun = here.fp >= here.sp
            && self.slot(slots::METHOD).is_none()
            && stack.word(here.fp.wrapping_add(WORD)) == Some(live.returns)
            && self.returns(live.returns);
        let caller = if begun {
            let sp = self.slot(slots::SENDER).unwrap_or(live.bytecode);
            Registers { pc: live.returns, sp, fp: stack.word(here.fp)? }
        } else {
            let top = stack.word(here.sp).filter(|pc| self.returns(*pc));
            let pc = top.or(Some(live.returns).filter(|pc| self.returns(*pc)))?;
            Registers { pc, sp: live.bytecode, fp: here.fp }
        };
        frames.push(method.frame(memory, &layout.method, ENTRY)?);
        (caller.sp > here.sp).then_some(Left { caller, whole: false })
    }

    /// Who called a method that is being left. What is kept to come back with is in the registers.
    fn left(&self, live: Interpreting) -> Option<Left> {
        let Self { memory, stack, here, .. } = *self;
        if !CALL_PUSHES {
            return self.linked(live);
        }
        let top = if leaves(memory, here.pc) { stack.word(here.sp) } else { None };
        let pc = top.or(Some(live.bytecode)).filter(|pc| self.returns(*pc))?;
        let caller = Registers { pc, sp: live.method, fp: here.fp };
        (caller.sp >= here.sp).then_some(Left { caller, whole: false })
    }

    /// Who has called, and is interpreted, by where a call returns to that has left nothing on the
    /// stack: it has its own frame pointer back, or still has it. (Of a compiled caller nothing
    /// tells where its frame is.)
    fn linked(&self, live: Interpreting) -> Option<Left> {
        let caller = Registers { pc: live.returns, ..self.here };
        self.layout.interpreter.is_returned_to(live.returns).then_some(Left { caller, whole: false })
    }

    /// True if a method may return there.
    fn returns(&self, pc: usize) -> bool {
        let Self { memory, layout, .. } = *self;
        layout.interpreter.is_returned_to(pc)
            || pc == layout.entry.returns
            || layout.ground.blobs.at(pc, memory) == Some(Blob::Method) && follows_call(memory, pc)
    }
}
