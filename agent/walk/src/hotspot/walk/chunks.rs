//! How a walk goes on where a virtual thread's frames lie in chunks.
//!
//! It must never go on in a chunk that may have been moved or changed while it was read: where that
//! cannot be told there is no stack.

use super::state::Walk;
use crate::calls::follows_call;
use crate::code_cache::Blob;
use crate::context::Registers as Position;
use crate::hotspot::compiled::Compiled;
use crate::hotspot::continuation::{CHUNKS, Chunk, ContinuationLayout, Further};
use crate::hotspot::frames::Frames;
use crate::memory::Memory;

impl<M: Memory> Walk<'_, M> {
    /// True if the caller of what was left is to be found in a chunk, or nowhere any more.
    pub(super) fn goes_on_in_chunk(&self, caller: Position) -> bool {
        match self.stack.chunk() {
            Some(chunk) => chunk.ends(caller.sp),
            None => self.continuations.is_some_and(|known| known.barrier.contains(&caller.pc)),
        }
    }

    /// Where the caller of the frames is that were added last: there, or in a chunk, which is told
    /// with it. `None` if that is not known.
    pub(super) fn found(&self, caller: Position, frames: &Frames<'_>) -> Option<Further<(Position, bool)>> {
        if let (1, None, Some(known)) = (frames.count(), self.leaving.get(), self.continuations)
            && frames.last().is_some_and(|only| only.method == known.leaves)
        {
            self.leaving.set(Some(caller));
        }
        if !self.goes_on_in_chunk(caller) {
            return Some(Further::Is((caller, false)));
        }
        match self.in_chunk(caller, false)? {
            Further::Is(youngest) => Some(Further::Is((youngest, true))),
            // There a virtual thread's stack ends with the first of its methods.
            Further::Nothing => self.continuations?.is_first(frames.last()).then_some(Further::Nothing),
        }
    }

    /// Goes on in the next chunk: that caller's place in it. `None` if that cannot be told.
    pub(super) fn in_chunk(&self, caller: Position, returned: bool) -> Option<Further<Position>> {
        let Self { memory, stack, .. } = self;
        let known = self.continuations?;
        self.chunks.set(self.chunks.get().wrapping_add(1));
        if self.chunks.get() > CHUNKS {
            return None;
        }
        let chunk = if let Some(chunk) = stack.chunk() {
            known.older_chunk(*memory, chunk)?
        } else {
            if !self.in_java {
                self.moment.set(Some(known.heap.moment(*memory)?));
            }
            let youngest = known.youngest_chunk(*memory, self.thread, caller.sp, returned)?;
            match self.leaving.get() {
                Some(leaving) => self.before_leaving(known, youngest, leaving, caller.sp)?,
                None => Further::Is(youngest),
            }
        };
        match chunk {
            Further::Is(chunk) => stack.enter(chunk).map(Further::Is),
            Further::Nothing => Some(Further::Nothing),
        }
    }

    /// The chunk as it was before the thread began to leave its carrier, while its frames from
    /// there to the end go into it: they are counted in it already, or not yet. `None` if that
    /// cannot be told.
    fn before_leaving(
        &self,
        known: &ContinuationLayout,
        chunk: Chunk,
        leaving: Position,
        end: usize,
    ) -> Option<Further<Chunk>> {
        let Self { memory, layout, .. } = self;
        let pc = |chunk: Chunk| chunk.youngest(*memory).map(|youngest| youngest.pc);
        let goes_on = |chunk: Chunk| {
            pc(chunk).is_some_and(|pc| {
                layout.interpreter.is_returned_to(pc)
                    || layout.ground.blobs.at(pc, *memory) == Some(Blob::Method) && follows_call(*memory, pc)
            })
        };
        let without = chunk.without(end.wrapping_sub(leaving.sp));
        if pc(chunk) == Some(leaving.pc) {
            // They are, and so large are they there, too: else somebody else's frames would be
            // taken for the next.
            let without = without?;
            return match () {
                () if without.is_empty() => known.older_chunk(*memory, without),
                () if goes_on(without) => Some(Further::Is(without)),
                () => None,
            };
        }
        // They are counted once they are there, so they are not; unless the frame that leads on
        // first does not say itself where it goes on.
        (!self.is_given_up(leaving.pc) && goes_on(chunk)).then_some(Further::Is(chunk))
    }

    /// True if a frame that returns there says elsewhere where it goes on: its code was given up.
    fn is_given_up(&self, pc: usize) -> bool {
        let Self { memory, layout, .. } = self;
        let Some((blob, Blob::Method)) = layout.ground.blobs.find(pc, *memory) else { return false };
        Compiled::at(*memory, layout, blob)
            .is_none_or(|method| method.given_up(*memory, &layout.compiled, pc))
    }

    /// True if what was read of chunks was not moved meanwhile.
    pub(super) fn is_of_one_moment(&self) -> bool {
        let Some(first) = self.moment.get() else { return true };
        self.continuations.and_then(|known| known.heap.moment(self.memory)) == Some(first)
    }
}
