//! Finds the interpreter frames that are replacing a deoptimised frame.
//!
//! The JVM has removed the deoptimised frame and has pushed skeleton frames of the interpreter, one
//! for each inlined method. It is filling them in from a `vframeArray`. The methods and bcis are in
//! no frame yet, only in that array. Meanwhile the thread has no anchor, or its anchor leads to
//! frames that cannot be walked. The links between the skeleton frames are valid from the
//! beginning, and nothing else of these frames must be read.

use super::frames::Frames;
use super::layout::{BlobField, Layout, VframeArrayLayout};
use super::method::Method;
use super::processor::slots;
use super::stack::Stack;
use crate::code_cache::BlobKind;
use crate::context::Registers as Position;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// The maximal number of frames in a vframeArray. No compiler inlines deeper.
const MAX_ELEMENTS: usize = 1 << 10;

/// The vframeArray of a thread with skeleton frames.
#[derive(Debug)]
pub struct VframeArray<'w, M> {
    memory: &'w M,
    layout: &'w Layout,
    stack: &'w Stack<'w, M>,
    offsets: VframeArrayLayout,
    /// Address of the vframeArray.
    array: usize,
}

impl<'w, M: Memory> VframeArray<'w, M> {
    /// The `vframeArray` of a thread with skeleton frames: the methods and bcis to fill them with.
    pub fn from_thread(
        memory: &'w M,
        layout: &'w Layout,
        stack: &'w Stack<'w, M>,
        thread: usize,
    ) -> Option<Self> {
        let offsets = layout.vframe_array?;
        let array = memory.word(thread.wrapping_add(offsets.head))?;
        (array != 0).then_some(Self { memory, layout, stack, offsets, array })
    }

    /// Finds the frame of the blob that unpacks the vframeArray. The JVM has cleared only the stack
    /// pointer of the thread's anchor. So the anchor still has that frame's pc and frame pointer.
    pub fn unpacker_frame(&self, pc: usize, fp: usize) -> Option<Position> {
        let Self { memory, layout, stack, .. } = self;
        let (blob, BlobKind::Other) = layout.jvm.code_cache.find(pc, *memory)? else { return None };
        let size = BlobField::int(layout.blob.frame_size).read(*memory, blob)?;
        let end = fp.wrapping_add(2 * WORD);
        let sp = end.wrapping_sub(size.wrapping_mul(WORD));
        let returns = stack.word(end.wrapping_sub(WORD))?;
        (size >= 2 && self.is_skeleton_frame(returns)).then_some(Position { pc, sp, fp })
    }

    /// True if `pc` may be the return address into a skeleton frame.
    pub fn is_skeleton_frame(&self, pc: usize) -> bool {
        self.layout.jvm.interpreter.contains(&pc)
    }

    /// Adds the frames of the vframeArray to the walk, and returns the caller of the outermost one.
    /// `innermost` has the registers of the innermost skeleton frame.
    pub fn push_frames(&self, innermost: Position, frames: &mut Frames<'_>) -> Option<Position> {
        let Self { memory, layout, stack, offsets, array } = self;
        let memory = *memory;
        let count = usize::try_from(memory.int(array.wrapping_add(offsets.frames))?).ok()?;
        if count == 0 || count > MAX_ELEMENTS {
            return None;
        }
        let mut here = innermost;
        for index in 0..count {
            if !self.is_skeleton_frame(here.pc) {
                return None;
            }
            let element =
                array.wrapping_add(offsets.elements).wrapping_add(index.wrapping_mul(offsets.element_size));
            let method =
                Method::at(memory, &layout.method, memory.word(element.wrapping_add(offsets.method))?)?;
            let bci = memory.int(element.wrapping_add(offsets.bci))?;
            frames.push(method.frame(memory, &layout.method, bci)?);
            let sp = stack.word(here.fp.wrapping_sub(slots::SENDER_SP.wrapping_mul(WORD)))?;
            let caller =
                Position { pc: stack.word(here.fp.wrapping_add(WORD))?, sp, fp: stack.word(here.fp)? };
            if caller.sp <= here.fp {
                return None;
            }
            here = caller;
        }
        // The caller of the deoptimised frame is now the caller of these frames, and its stack
        // pointer has not changed.
        (memory.word(array.wrapping_add(offsets.caller_sp))? == here.sp).then_some(here)
    }
}
