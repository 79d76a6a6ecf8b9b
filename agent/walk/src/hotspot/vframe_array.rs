//! The frames that are being made of one whose code was given up.
//!
//! The JVM has taken that frame down, pushed those of the interpreter that replace it, one for each
//! method that was one with others in it, and is filling them in: which method each is of, and
//! where that goes on, stands in no frame yet, but in what it fills them in from. Meanwhile it does
//! not say where the thread has left Java, or it says so of a stack that cannot be read. Nothing of
//! these frames must be read but how they are linked, which they are from the first on.

use super::frames::Frames;
use super::layout::{Layout, Number, UnpackLayout};
use super::method::Method;
use super::processor::slots;
use super::stack::Stack;
use crate::code_cache::Blob;
use crate::context::Registers as Position;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// More are never one.
const MOST: usize = 1 << 10;

/// A thread that is being given such frames.
#[derive(Debug)]
pub struct Unpacked<'w, M> {
    memory: &'w M,
    layout: &'w Layout,
    stack: &'w Stack<'w, M>,
    known: UnpackLayout,
    /// What they are filled in from.
    from: usize,
}

impl<'w, M: Memory> Unpacked<'w, M> {
    /// `None` if this thread is not.
    pub fn of(memory: &'w M, layout: &'w Layout, stack: &'w Stack<'w, M>, thread: usize) -> Option<Self> {
        let known = layout.unpack?;
        let from = memory.word(thread.wrapping_add(known.head))?;
        (from != 0).then_some(Self { memory, layout, stack, known, from })
    }

    /// Where the thread has left Java by what is left of what it had said of it: in the frame of
    /// the code that gives it these frames.
    pub fn left(&self, pc: usize, fp: usize) -> Option<Position> {
        let Self { memory, layout, stack, .. } = self;
        let (blob, Blob::Other) = layout.ground.blobs.find(pc, *memory)? else { return None };
        let size = Number::int(layout.blob.frame_size).of(*memory, blob)?;
        let end = fp.wrapping_add(2 * WORD);
        let sp = end.wrapping_sub(size.wrapping_mul(WORD));
        let returns = stack.word(end.wrapping_sub(WORD))?;
        (size >= 2 && self.is_made(returns)).then_some(Position { pc, sp, fp })
    }

    /// True for where what was called from such a frame returns to.
    pub fn is_made(&self, pc: usize) -> bool {
        self.layout.ground.interpreter.contains(&pc)
    }

    /// Adds them, the innermost of which is this one, and says who has called the outermost.
    pub fn add(&self, innermost: Position, frames: &mut Frames<'_>) -> Option<Position> {
        let Self { memory, layout, stack, known, from } = self;
        let memory = *memory;
        let count = usize::try_from(memory.int(from.wrapping_add(known.count))?).ok()?;
        if count == 0 || count > MOST {
            return None;
        }
        let mut here = innermost;
        for index in 0..count {
            if !self.is_made(here.pc) {
                return None;
            }
            let one = from.wrapping_add(known.first).wrapping_add(index.wrapping_mul(known.size));
            let method = Method::at(memory, &layout.method, memory.word(one.wrapping_add(known.method))?)?;
            let bci = memory.int(one.wrapping_add(known.bci))?;
            frames.push(method.frame(memory, &layout.method, bci)?);
            let sp = stack.word(here.fp.wrapping_sub(slots::SENDER.wrapping_mul(WORD)))?;
            let caller =
                Position { pc: stack.word(here.fp.wrapping_add(WORD))?, sp, fp: stack.word(here.fp)? };
            if caller.sp <= here.fp {
                return None;
            }
            here = caller;
        }
        // Whoever called the frame that was taken down has them now, and his own ends where it did.
        (memory.word(from.wrapping_add(known.caller))? == here.sp).then_some(here)
    }
}
