//! The stack of a mounted virtual thread: frames on the carrier's stack, and frames that are still
//! frozen in `StackChunk` objects of the heap.
//!
//! A carrier pushes a `ContinuationEntry`, which refers to the thread's continuation. The
//! continuation refers to its last chunk, and each chunk to its parent. The oldest frame on the
//! stack returns to the *return barrier*. Its caller is the youngest frame of the last chunk that
//! is not empty. In a chunk the interpreter's frames have relative distances instead of addresses.

use core::ops::Range;

use super::frames::Frames;
use super::heap::HeapLayout;
use super::mounted_vthread::MountedVthreadLayout;
use crate::context::Registers as Position;
use crate::memory::Memory;
use crate::walker::{OwnFrames, RawFrame};

const WORD: usize = size_of::<usize>();
/// The maximal distance of the continuation entry from the oldest frame on the stack, in bytes.
/// Between the two are that frame's stack arguments, 255 words at most.
const MAX_ARGUMENT_BYTES: usize = 1 << 12;
/// The maximal distance of the continuation entry while the thread runs the return barrier's code,
/// or code that it has called. The barrier has then pushed the return values of the last frame.
const MAX_BARRIER_BYTES: usize = 1 << 6;
/// The maximal number of chunks of a stack. The limit ends a walk through a cycle.
pub const MAX_CHUNKS: usize = 1 << 10;
/// The size of the saved frame pointer and the return address at the end of a frame, in bytes. A
/// chunk's oldest frame may end this far before the chunk's end.
const LINKS: usize = 2 * WORD;

/// Offsets and ids that lead to the frames of virtual threads.
#[derive(Debug, Clone)]
pub struct ContinuationLayout {
    /// The offsets that lead to a carrier's mounted virtual thread. `None` if this JVM does not
    /// publish them.
    pub mounted: Option<MountedVthreadLayout>,
    pub heap: HeapLayout,
    /// The code of the return barrier, up to the return of its first call. Until then no frame has
    /// been thawed.
    pub barrier: Range<usize>,
    /// The jmethodID of `Continuation.enter`, a virtual thread's first method.
    pub enter_id: usize,
    /// The jmethodID of `Continuation.enterSpecial`, which calls `enter`. Its frame is the
    /// `ContinuationEntry`.
    pub enter_special_id: usize,
    /// The jmethodID of `VirtualThread.runContinuation`, two frames further out than the
    /// `ContinuationEntry`.
    pub run_continuation_id: usize,
    /// The jmethodID of `Continuation.doYield`, by which a thread leaves its carrier.
    pub do_yield_id: usize,
    /// Offsets in a JavaThread at which `_cont_entry` may be.
    pub entry_slots: Range<usize>,
    /// Offsets in a `ContinuationEntry` at which its continuation may be.
    pub entry_continuation: Range<usize>,
    /// The klass of virtual threads' continuations.
    pub klass: usize,
    /// Offset of `Continuation.tail`, the field with the last chunk.
    pub tail: usize,
    pub chunk: ChunkLayout,
}

/// Offsets in `jdk.internal.vm.StackChunk`, the heap object that holds frozen frames.
#[derive(Debug, Clone, Copy)]
pub struct ChunkLayout {
    /// The klass of `jdk.internal.vm.StackChunk`.
    pub klass: usize,
    /// Offset of `StackChunk.parent`, the next older chunk.
    pub parent: usize,
    /// Offset of `StackChunk.size`, the number of words for frames.
    pub size: usize,
    /// Offset of `StackChunk.sp`, the word at which the youngest frame begins.
    pub sp: usize,
    /// The field that says where the oldest frame of a chunk ends.
    pub end: ChunkEnd,
    /// Offset in a chunk of the first word for frames.
    pub frames: usize,
}

/// The field that says where the oldest frame of a chunk ends. JDKs differ in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkEnd {
    /// Offset of `StackChunk.bottom`, the word after the oldest frame.
    Bottom(usize),
    /// Offset of `StackChunk.argsize`, the number of words after the oldest frame.
    ArgSize(usize),
}

/// The result of a successful search for the next older chunk or frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<T> {
    Found(T),
    /// The stack of the virtual thread ends here, so no older chunk or frame exists.
    End,
}

/// A `StackChunk` that is being walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    object: usize,
    /// The address at which the chunk's youngest frame begins.
    begin: usize,
    /// The address at which the chunk's oldest frame ends.
    end: usize,
}

impl Chunk {
    /// Returns the addresses of the words of a chunk's frames. They include the two words below the
    /// youngest frame, in which its callee would have its return address.
    pub fn range(self) -> Range<usize> {
        self.begin.wrapping_sub(LINKS)..self.end
    }

    /// Reads the registers of the chunk's youngest frame.
    pub fn youngest(self, memory: &impl Memory) -> Option<Position> {
        let link = self.begin.wrapping_sub(LINKS);
        let pc = memory.word(link.wrapping_add(WORD))?;
        Some(Position { pc, sp: self.begin, fp: words_from(link, memory.word(link)?) })
    }

    /// Returns the chunk without its youngest frames, which take this number of bytes. The result
    /// is `None` if the chunk has fewer bytes.
    pub fn skip_bytes(self, bytes: usize) -> Option<Self> {
        let begin = self.begin.wrapping_add(bytes);
        (begin <= self.end).then_some(Self { begin, ..self })
    }

    /// True if the chunk of the stack has no frames.
    pub fn is_empty(self) -> bool {
        self.begin >= self.end
    }

    /// True if a frame that ends at `sp` is the oldest of the chunk. Its stack arguments may be
    /// after the chunk's end.
    pub fn is_oldest_frame(self, sp: usize) -> bool {
        sp.wrapping_add(LINKS) >= self.end && sp < self.end.wrapping_add(MAX_ARGUMENT_BYTES)
    }
}

/// Returns the address that is `words` words after `from`.
pub fn words_from(from: usize, words: usize) -> usize {
    from.wrapping_add(words.wrapping_mul(WORD))
}

impl ContinuationLayout {
    /// True for a frame of `Continuation.enter`, the first method of a virtual thread.
    pub fn is_first(&self, frame: Option<RawFrame>) -> bool {
        frame.is_some_and(|frame| frame.method == self.enter_id)
    }

    /// Returns which frames of a walk belong to a mounted virtual thread. At a return barrier, a
    /// walker that does not handle the barrier continues in the carrier's frames.
    pub fn own_frames(&self, frames: &[RawFrame]) -> OwnFrames {
        let count = u32::try_from(frames.len()).unwrap_or(u32::MAX);
        self.own_frames_among(0..count, |index| frames.get(index as usize).copied())
    }

    /// Returns which frames of an unfinished walk belong to a mounted virtual thread. It looks only
    /// at frames that were added since `before`.
    pub fn own_frames_since(&self, before: u32, frames: &Frames<'_>) -> OwnFrames {
        self.own_frames_among(before..frames.count(), |index| frames.get(index))
    }

    fn own_frames_among(&self, added: Range<u32>, frame: impl Fn(u32) -> Option<RawFrame>) -> OwnFrames {
        let is = |index: u32, back: u32, method| {
            index.checked_sub(back).and_then(&frame).is_some_and(|frame| frame.method == method)
        };
        let run_continuation = added
            .into_iter()
            .find(|index| is(*index, 0, self.run_continuation_id) && is(*index, 2, self.enter_special_id));
        let entry = run_continuation.and_then(|index| index.checked_sub(2));
        // With the entry on top, the carrier is just entering or leaving the continuation.
        let Some(entry) = entry.filter(|entry| *entry > 0) else {
            return OwnFrames::All;
        };
        let is_first = self.is_first(entry.checked_sub(1).and_then(&frame));
        if is_first { OwnFrames::First(entry) } else { OwnFrames::Torn }
    }

    /// Finds the chunk with the callers of the oldest frame on the stack, which ends at `end`. With
    /// `returned` that frame has returned to the barrier, and `end` is the stack pointer. The
    /// result is `None` if no virtual thread's chunk is found.
    pub fn youngest_chunk(
        &self,
        memory: &impl Memory,
        java_thread: usize,
        end: usize,
        returned: bool,
    ) -> Option<Chunk> {
        let near = if returned { MAX_BARRIER_BYTES } else { MAX_ARGUMENT_BYTES };
        let is_near =
            |entry: &usize| *entry >= end && *entry < end.wrapping_add(near) && entry.is_multiple_of(WORD);
        let is_searched = self.entry_slots.len() > WORD;
        let words = self.entry_slots.clone().step_by(WORD);
        let mut entries = words.filter_map(|at| memory.word(java_thread.wrapping_add(at)).filter(is_near));
        let continuation_at = |at: usize| {
            let address = memory.word(at)?;
            // A word that is not the entry may have any content, so its target may be unmapped.
            if is_searched {
                memory.word_if_mapped(address)?;
                memory.word_if_mapped(address.wrapping_add(WORD))?;
            }
            let object = self.heap.forwardee(memory, address)?;
            (self.heap.klass(memory, object)? == self.klass).then_some(object)
        };
        let continuation = entries.find_map(|entry| {
            let mut slots = self.entry_continuation.clone().step_by(WORD);
            slots.find_map(|at| continuation_at(entry.wrapping_add(at)))
        })?;
        match self.first_filled(memory, continuation.wrapping_add(self.tail))? {
            Lookup::Found(chunk) => Some(chunk),
            Lookup::End => None,
        }
    }

    /// Finds the chunk with the callers of this chunk's oldest frame. The result is `None` if it
    /// cannot be read.
    pub fn older_chunk(&self, memory: &impl Memory, chunk: Chunk) -> Option<Lookup<Chunk>> {
        self.first_filled(memory, chunk.object.wrapping_add(self.chunk.parent))
    }

    /// Finds the first chunk that has a frame. The search begins at the chunk that `field` refers
    /// to and goes on to its parents.
    fn first_filled(&self, memory: &impl Memory, field: usize) -> Option<Lookup<Chunk>> {
        let mut field = field;
        for _ in 0..MAX_CHUNKS {
            let object = self.heap.load_oop(memory, field)?;
            if object == 0 {
                return Some(Lookup::End);
            }
            let chunk = self.chunk(memory, object)?;
            if !chunk.is_empty() {
                return Some(Lookup::Found(chunk));
            }
            field = chunk.object.wrapping_add(self.chunk.parent);
        }
        None
    }

    fn chunk(&self, memory: &impl Memory, object: usize) -> Option<Chunk> {
        let ChunkLayout { klass, size, sp, end, frames, .. } = self.chunk;
        if self.heap.klass(memory, object)? != klass {
            return None;
        }
        let number = |at: usize| usize::try_from(memory.int(object.wrapping_add(at))?).ok();
        let (size, sp) = (number(size)?, number(sp)?);
        let end = match end {
            ChunkEnd::Bottom(at) => number(at)?,
            ChunkEnd::ArgSize(at) => size.checked_sub(number(at)?)?,
        };
        let address = |words: usize| words_from(object.wrapping_add(frames), words);
        (sp <= size && end <= size).then_some(Chunk { object, begin: address(sp), end: address(end) })
    }
}
