//! Continues a walk in the chunks of a virtual thread, where its frozen frames are.
//!
//! A walk must not use a chunk that may have been moved or changed while it was read. If it cannot
//! be sure, there is no stack.

use super::state::Walk;
use crate::calls::follows_call;
use crate::code_cache::BlobKind;
use crate::context::Registers as Position;
use crate::hotspot::compiled::Compiled;
use crate::hotspot::continuation::{Chunk, ContinuationLayout, Lookup, MAX_CHUNKS};
use crate::hotspot::frames::Frames;
use crate::memory::Memory;

impl<M: Memory> Walk<'_, M> {
    /// True if the next frame is in another chunk, or the stack ends. `caller` has the registers to
    /// which the last frame returns.
    pub(super) fn continues_in_chunk(&self, caller: Position) -> bool {
        match self.stack.chunk() {
            Some(chunk) => chunk.is_oldest_frame(caller.sp),
            None => {
                self.continuations.is_some_and(|continuations| continuations.barrier.contains(&caller.pc))
            }
        }
    }

    /// Finds the caller of the walk's last frame: at `caller`, or in a chunk. The flag is true for
    /// a chunk. The result is `None` if the caller is unknown.
    pub(super) fn resolve_caller(
        &self,
        caller: Position,
        frames: &Frames<'_>,
    ) -> Option<Lookup<(Position, bool)>> {
        if let (1, None, Some(continuations)) = (frames.count(), self.yielding.get(), self.continuations)
            && frames.last().is_some_and(|only| only.method == continuations.do_yield_id)
        {
            self.yielding.set(Some(caller));
        }
        if !self.continues_in_chunk(caller) {
            return Some(Lookup::Found((caller, false)));
        }
        match self.enter_next_chunk(caller, false)? {
            Lookup::Found(youngest) => Some(Lookup::Found((youngest, true))),
            // The stack of a virtual thread must end with its first method.
            Lookup::End => self.continuations?.is_first(frames.last()).then_some(Lookup::End),
        }
    }

    /// Enters the next chunk of the virtual thread, and returns the registers of its youngest
    /// frame. The result is `None` if the chunk cannot be read.
    pub(super) fn enter_next_chunk(&self, caller: Position, returned: bool) -> Option<Lookup<Position>> {
        let Self { memory, stack, .. } = self;
        let continuations = self.continuations?;
        self.chunks_entered.set(self.chunks_entered.get().wrapping_add(1));
        if self.chunks_entered.get() > MAX_CHUNKS {
            return None;
        }
        let chunk = if let Some(chunk) = stack.chunk() {
            continuations.older_chunk(*memory, chunk)?
        } else {
            if !self.in_java {
                self.epoch.set(Some(continuations.heap.epoch(*memory)?));
            }
            let youngest = continuations.youngest_chunk(*memory, self.thread, caller.sp, returned)?;
            match self.yielding.get() {
                Some(yielding) => self.chunk_before_yield(continuations, youngest, yielding, caller.sp)?,
                None => Lookup::Found(youngest),
            }
        };
        match chunk {
            Lookup::Found(chunk) => stack.enter(chunk).map(Lookup::Found),
            Lookup::End => Some(Lookup::End),
        }
    }

    /// Returns the chunk as it was before the thread began to yield. The frames from `yielding` to
    /// `end` are being frozen into it. The chunk's `sp` may include them already. The result is
    /// `None` if that is uncertain.
    fn chunk_before_yield(
        &self,
        continuations: &ContinuationLayout,
        chunk: Chunk,
        yielding: Position,
        end: usize,
    ) -> Option<Lookup<Chunk>> {
        let Self { memory, layout, .. } = self;
        let pc = |chunk: Chunk| chunk.youngest(*memory).map(|youngest| youngest.pc);
        let is_return_address = |chunk: Chunk| {
            pc(chunk).is_some_and(|pc| {
                layout.interpreter.is_return_entry(pc)
                    || layout.jvm.code_cache.kind_at(pc, *memory) == Some(BlobKind::Nmethod)
                        && follows_call(*memory, pc)
            })
        };
        let without = chunk.skip_bytes(end.wrapping_sub(yielding.sp));
        if pc(chunk) == Some(yielding.pc) {
            // The chunk includes the frames. Their size there must be the same, because otherwise
            // other frames would be taken for the next ones.
            let without = without?;
            return match () {
                () if without.is_empty() => continuations.older_chunk(*memory, without),
                () if is_return_address(without) => Some(Lookup::Found(without)),
                () => None,
            };
        }
        // The chunk's sp is set after the frames were copied, so it does not include them. The
        // exception is a deoptimised frame, which has its real return address elsewhere.
        (!self.returns_to_deopt_handler(yielding.pc) && is_return_address(chunk))
            .then_some(Lookup::Found(chunk))
    }

    /// True if the pc is a deopt handler, so that the frame has its original pc elsewhere.
    fn returns_to_deopt_handler(&self, pc: usize) -> bool {
        let Self { memory, layout, .. } = self;
        let Some((blob, BlobKind::Nmethod)) = layout.jvm.code_cache.find(pc, *memory) else { return false };
        Compiled::at(*memory, layout, blob)
            .is_none_or(|method| method.is_deopt_handler(*memory, &layout.compiled, pc))
    }

    /// True if no object was moved since the walk read the first chunk.
    pub(super) fn is_heap_unchanged(&self) -> bool {
        let Some(first) = self.epoch.get() else { return true };
        self.continuations.and_then(|continuations| continuations.heap.epoch(self.memory)) == Some(first)
    }
}
