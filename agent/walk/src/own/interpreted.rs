//! A frame of the interpreter: its parts lie at fixed distances from its frame pointer.
//!
//! While a method is entered its frame is not there yet, and the frame pointer is the caller's: then the method is in a register. It
//! must never take the caller for the method that is being entered.

use vouch_sample::{ENTRY, NATIVE};

use super::frames::Frames;
use super::layout::Layout;
use super::method::Method;
use super::processor::{follows_call, slots};
use super::stack::Stack;
use crate::context::{Interpreting, Registers};
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();

/// A frame that was left.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    pub caller: Registers,
    /// It was all there.
    pub whole: bool,
}

/// Adds the frame, and says where its caller stands. What the registers have is told where the thread was interrupted there.
pub fn leave<M: Memory>(
    memory: &M,
    layout: &Layout,
    stack: &Stack<'_, M>,
    here: Registers,
    live: Option<Interpreting>,
    frames: &mut Frames<'_>,
) -> Option<Left> {
    let slot = |words: usize| stack.word(here.fp.wrapping_sub(words.wrapping_mul(WORD)));
    let method = slot(slots::METHOD).and_then(|method| Method::at(memory, &layout.method, method));
    let current = live.and_then(|live| method?.bci(memory, &layout.method, live.bytecode));
    if let Some(live) = live
        && current.is_none()
        && layout.interpreter.entries.contains(&here.pc)
        && slot(slots::METHOD) != Some(live.method)
    {
        let caller = enter(memory, layout, stack, here, live, frames)?;
        return Some(Left { caller, whole: false });
    }
    let method = method?;
    let bci = match current {
        _ if method.is_native(memory, &layout.method)? => NATIVE,
        Some(bci) => bci,
        // Where it was when it last called somebody, or came back.
        None => method.bci(memory, &layout.method, slot(layout.interpreter.bytecode)?)?,
    };
    frames.push(method.frame(memory, &layout.method, bci)?);
    let caller = Registers {
        pc: stack.word(here.fp.wrapping_add(WORD))?,
        sp: slot(slots::SENDER)?,
        fp: stack.word(here.fp)?,
    };
    // What it was called with may lie above its own frame's end.
    (here.fp >= here.sp && caller.sp > here.fp).then_some(Left { caller, whole: true })
}

/// The same for a method that is being entered. Its frame's return address is on top, or taken off to make room for its locals.
fn enter<M: Memory>(
    memory: &M,
    layout: &Layout,
    stack: &Stack<'_, M>,
    here: Registers,
    live: Interpreting,
    frames: &mut Frames<'_>,
) -> Option<Registers> {
    let returns = |pc: &usize| {
        layout.ground.interpreter.contains(pc) || *pc == layout.entry.returns || follows_call(memory, *pc)
    };
    let pc = stack.word(here.sp).filter(returns).or(Some(live.returns).filter(returns))?;
    frames.push(Method::at(memory, &layout.method, live.method)?.frame(memory, &layout.method, ENTRY)?);
    (live.bytecode > here.sp).then_some(Registers { pc, sp: live.bytecode, fp: here.fp })
}
