//! The frame of an interpreted method. Its parts are at fixed distances from its frame pointer.
//!
//! While a method is entered or left, its frame does not exist, and the frame pointer belongs to
//! the next interpreted caller. Any number of compiled frames may be between the two. The walk must
//! never take that caller for the topmost method. The slot of the last stack pointer distinguishes
//! them: it is set as long as the frame's method has called another method.

use vouch_sample::{ENTRY, NATIVE};

use super::frame_state::FrameState;
use super::frames::Frames;
use super::layout::Layout;
use super::method::Method;
use super::processor::{has_popped_frame, lacks_sender_sp, slots};
use super::stack::Stack;
use crate::calls::follows_call;
use crate::code_cache::BlobKind;
use crate::context::{CALL_PUSHES, InterpreterRegisters, Registers};
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// The maximal distance in bytes between a caller's last stack pointer and the frame of the
/// interpreted method that it called. The arguments are between the two, and a method handle may
/// remove some.
const MAX_DISTANCE: usize = 1 << 12;

/// The result of unwinding an interpreted frame.
#[derive(Debug, Clone, Copy)]
pub struct Unwound {
    pub caller: Registers,
    /// True if the interpreted frame was complete.
    pub whole: bool,
}

/// The registers at a frame of the interpreter, which may be incomplete.
#[derive(Debug)]
pub struct Interpreted<'w, M> {
    pub memory: &'w M,
    pub layout: &'w Layout,
    pub stack: &'w Stack<'w, M>,
    pub here: Registers,
}

impl<M: Memory> Interpreted<'_, M> {
    /// Adds an interpreted frame to the walk and finds its caller. `live` has the interpreter's
    /// registers, which are valid only if the thread was interrupted in this frame.
    pub fn unwind(
        &self,
        state: FrameState,
        live: InterpreterRegisters,
        frames: &mut Frames<'_>,
    ) -> Option<Unwound> {
        let entries = &self.layout.interpreter.method_entries;
        match state {
            FrameState::Interrupted if entries.contains(&self.here.pc) && self.may_have_called() => {
                self.unwind_entry(live, frames)
            }
            FrameState::Interrupted if self.may_have_called() && !self.is_at_call_boundary(live) => {
                self.unwind_exit(live)
            }
            // The slots of the new frame are not written yet.
            FrameState::Interrupted
                if entries.contains(&self.here.pc) && lacks_sender_sp(self.memory, self.here.pc) =>
            {
                None
            }
            // On processors with a link register the bcp register still has the callee's bcp until
            // it is restored.
            FrameState::Interrupted if !CALL_PUSHES && self.is_return_entry() => {
                self.unwind_whole(None, frames)
            }
            FrameState::Interrupted => self.unwind_whole(Some(live), frames),
            FrameState::LastJavaFrame => self.unwind_whole(None, frames),
            // A caller's pc must be a return entry.
            FrameState::Caller | FrameState::UnverifiedCaller if self.has_called()? => {
                self.unwind_whole(None, frames)
            }
            FrameState::Caller | FrameState::UnverifiedCaller => None,
        }
    }

    /// Reads the slot of the interpreted frame that is `words` words below the frame pointer.
    fn slot(&self, words: usize) -> Option<usize> {
        self.stack.word(self.here.fp.wrapping_sub(words.wrapping_mul(WORD)))
    }

    /// True if the interpreted method has called another one, or if the frame's slots do not exist
    /// yet.
    fn may_have_called(&self) -> bool {
        self.slot(slots::LAST_SP) != Some(0) || self.slot(slots::METHOD).is_none()
    }

    /// True if the interpreted method is about to enter another one, or has just returned from one.
    /// The sender's stack pointer is ready then.
    fn is_at_call_boundary(&self, live: InterpreterRegisters) -> bool {
        self.is_return_entry() || CALL_PUSHES && live.bcp == self.here.sp.wrapping_add(WORD)
    }

    /// True if the frame's pc is a return entry of the interpreter.
    fn is_return_entry(&self) -> bool {
        self.layout.interpreter.is_return_entry(self.here.pc)
    }

    /// True if the interpreted method has called another one, and its stack ends at the callee's
    /// frame.
    fn has_called(&self) -> Option<bool> {
        let Registers { sp, fp, .. } = self.here;
        let word = self.slot(slots::LAST_SP)?;
        // Since JDK 22 the slot has a negative distance from the frame pointer, in words.
        let relative = fp.wrapping_add(word.wrapping_mul(WORD));
        let last = if word.cast_signed() < 0 { relative } else { word };
        let near =
            last <= fp && last.saturating_add(MAX_DISTANCE) > sp && last < sp.saturating_add(MAX_DISTANCE);
        Some(self.is_return_entry() && word != 0 && near)
    }

    /// Unwinds a complete interpreted frame. With `live` the bcp is in a register.
    fn unwind_whole(&self, live: Option<InterpreterRegisters>, frames: &mut Frames<'_>) -> Option<Unwound> {
        let Self { memory, layout, stack, here } = *self;
        let method = Method::at(memory, &layout.method, self.slot(slots::METHOD)?)?;
        let current = live.and_then(|live| method.bci(memory, &layout.method, live.bcp));
        let bci = match current {
            _ if method.is_native(memory, &layout.method)? => NATIVE,
            Some(bci) => bci,
            // The slot has the bcp of the last call.
            None => method.bci(memory, &layout.method, self.slot(layout.interpreter.bcp_slot)?)?,
        };
        frames.push(method.frame(memory, &layout.method, bci)?);
        let pc = stack.word(here.fp.wrapping_add(WORD))?;
        let sender = stack.derelativize(self.slot(slots::SENDER_SP)?, here.fp);
        // On processors with a link register an interpreted frame reserves its maximal stack, and
        // moves the stack pointer back for a call. So the saved sender's stack pointer may be
        // inside the callee's frame.
        let saved = !CALL_PUSHES && layout.interpreter.is_return_entry(pc);
        let least = if saved { here.fp.wrapping_add(2 * WORD) } else { 0 };
        let caller = Registers { pc, sp: sender.max(least), fp: stack.link(here.fp)? };
        // The arguments may be above the frame's end.
        (here.fp >= here.sp && caller.sp > here.fp).then_some(Unwound { caller, whole: true })
    }

    /// Unwinds an interpreted method that is being entered. Its return address is on top of the
    /// stack, or was popped to make space for the locals.
    fn unwind_entry(&self, live: InterpreterRegisters, frames: &mut Frames<'_>) -> Option<Unwound> {
        let Self { memory, layout, stack, here } = *self;
        let method = Method::at(memory, &layout.method, live.method)?;
        if !CALL_PUSHES {
            let caller = self.unwind_by_link_register(live)?;
            // The frame may be the method's new frame already, or the frame of a recursive caller
            // with the same return address.
            let is_ambiguous = self.slot(slots::METHOD) == Some(live.method)
                && stack.word(here.fp.wrapping_add(WORD)) == Some(live.return_address);
            if is_ambiguous {
                return None;
            }
            frames.push(method.frame(memory, &layout.method, ENTRY)?);
            return Some(caller);
        }
        // The frame pointer is the new frame's already, but its method slot is not written yet. The
        // return address alone proves nothing, because the caller may have the same one.
        let has_new_fp = here.fp >= here.sp
            && self.slot(slots::METHOD).is_none()
            && stack.word(here.fp.wrapping_add(WORD)) == Some(live.return_address)
            && self.is_return_address(live.return_address);
        let caller = if has_new_fp {
            let sp = self.slot(slots::SENDER_SP).unwrap_or(live.bcp);
            Registers { pc: live.return_address, sp, fp: stack.word(here.fp)? }
        } else {
            let top = stack.word(here.sp).filter(|pc| self.is_return_address(*pc));
            let pc = top.or(Some(live.return_address).filter(|pc| self.is_return_address(*pc)))?;
            Registers { pc, sp: live.bcp, fp: here.fp }
        };
        frames.push(method.frame(memory, &layout.method, ENTRY)?);
        (caller.sp > here.sp).then_some(Unwound { caller, whole: false })
    }

    /// Finds the caller of an interpreted method that is being left. The return address and the
    /// sender's stack pointer are in registers.
    fn unwind_exit(&self, live: InterpreterRegisters) -> Option<Unwound> {
        let Self { memory, stack, here, .. } = *self;
        if !CALL_PUSHES {
            return self.unwind_by_link_register(live);
        }
        let top = if has_popped_frame(memory, here.pc) { stack.word(here.sp) } else { None };
        let pc = top.or(Some(live.bcp)).filter(|pc| self.is_return_address(*pc))?;
        let caller = Registers { pc, sp: live.method, fp: here.fp };
        (caller.sp >= here.sp).then_some(Unwound { caller, whole: false })
    }

    /// Finds an interpreted caller by the link register. The frame pointer is the caller's, before
    /// its callee has a frame and after it was removed. The stack pointer of a compiled caller
    /// would be unknown.
    fn unwind_by_link_register(&self, live: InterpreterRegisters) -> Option<Unwound> {
        let caller = Registers { pc: live.return_address, ..self.here };
        self.layout
            .interpreter
            .is_return_entry(live.return_address)
            .then_some(Unwound { caller, whole: false })
    }

    /// True if an interpreted method may return to this pc.
    fn is_return_address(&self, pc: usize) -> bool {
        let Self { memory, layout, .. } = *self;
        layout.interpreter.is_return_entry(pc)
            || pc == layout.call_stub.return_address
            || layout.jvm.code_cache.kind_at(pc, memory) == Some(BlobKind::Nmethod)
                && follows_call(memory, pc)
    }
}
