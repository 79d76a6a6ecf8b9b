//! A virtual thread's stack: it begins where its carrier entered it, and what of it has not come
//! back since the thread was parked lies in objects of its own, *chunks*.
//!
//! A carrier lays a mark on its stack, the *entry*, which has the thread's continuation; that has
//! the last chunk, and each chunk the one before it. The oldest frame that has come back returns to
//! the *barrier*, and its caller is the youngest frame of the last chunk that is not empty. In a
//! chunk the interpreter's frames have distances in the place of addresses.

use core::ops::Range;

use super::frames::Frames;
use super::heap::HeapLayout;
use super::mounted_vthread::CarriedLayout;
use crate::context::Registers as Position;
use crate::memory::Memory;
use crate::walker::{Part, RawFrame};

const WORD: usize = size_of::<usize>();
/// How far from the oldest frame on the stack the entry lies: what that was called with is between,
/// 255 words at most.
const NEAR: usize = 1 << 12;
/// The same where the thread is in the barrier's code, or what that has called: it has pushed what
/// the frame before it returned.
const AT_BARRIER: usize = 1 << 6;
/// More chunks than these no stack is in.
pub const CHUNKS: usize = 1 << 10;
/// What a frame has of its caller's at its end: two words, of which none may be of a chunk's last.
const LINKS: usize = 2 * WORD;

/// Where it is all to be found.
#[derive(Debug, Clone)]
pub struct ContinuationLayout {
    /// Where it stands whom a carrier carries, if that is known.
    pub carried: Option<CarriedLayout>,
    pub heap: HeapLayout,
    /// The code whose beginning the oldest frame on the stack returns to, as far as nothing has
    /// come back yet: until its first call returns.
    pub barrier: Range<usize>,
    /// The ids of four methods: a virtual thread's first; the one that calls it, whose frame is the
    /// entry; the one that has called what has called that; and the one by which a thread leaves
    /// its carrier.
    pub first: usize,
    pub enters: usize,
    pub carries: usize,
    pub leaves: usize,
    /// Where in a JavaThread the entry's address may stand.
    pub entry: Range<usize>,
    /// Where in an entry the continuation may be.
    pub continuation: Range<usize>,
    /// Its class, and where in it the last chunk is.
    pub class: usize,
    pub last: usize,
    pub chunk: ChunkLayout,
}

/// A chunk.
#[derive(Debug, Clone, Copy)]
pub struct ChunkLayout {
    pub class: usize,
    /// In it: the chunk before; how many words there are for frames; where the youngest of those
    /// begins.
    pub before: usize,
    pub size: usize,
    pub youngest: usize,
    /// In it: where the oldest ends, or how many words behind that there are.
    pub end: End,
    /// How far from its beginning the words for frames begin.
    pub frames: usize,
}

/// What a chunk says of its frames' end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    At(usize),
    Before(usize),
}

/// Whether there is something further out, where that can be told at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Further<T> {
    Is(T),
    Nothing,
}

/// A chunk that is being walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    object: usize,
    /// Where its youngest frame begins, and where its oldest ends.
    begin: usize,
    end: usize,
}

impl Chunk {
    /// Where its frames' words lie, with those in which the youngest one's callee would have where
    /// to go on.
    pub fn range(self) -> Range<usize> {
        self.begin.wrapping_sub(LINKS)..self.end
    }

    /// Where the youngest frame is.
    pub fn youngest(self, memory: &impl Memory) -> Option<Position> {
        let link = self.begin.wrapping_sub(LINKS);
        let pc = memory.word(link.wrapping_add(WORD))?;
        Some(Position { pc, sp: self.begin, fp: distant(link, memory.word(link)?) })
    }

    /// The same without so many bytes of its youngest frames; `None` if it has less.
    pub fn without(self, bytes: usize) -> Option<Self> {
        let begin = self.begin.wrapping_add(bytes);
        (begin <= self.end).then_some(Self { begin, ..self })
    }

    /// True if there are no frames in it.
    pub fn is_empty(self) -> bool {
        self.begin >= self.end
    }

    /// True if the frame whose caller would stand there is the oldest. (What that was called with
    /// may lie behind the end.)
    pub fn ends(self, sp: usize) -> bool {
        sp.wrapping_add(LINKS) >= self.end && sp < self.end.wrapping_add(NEAR)
    }
}

/// The address that lies so many words from another one.
pub fn distant(from: usize, words: usize) -> usize {
    from.wrapping_add(words.wrapping_mul(WORD))
}

impl ContinuationLayout {
    /// True for the frame of a virtual thread's first method.
    pub fn is_first(&self, frame: Option<RawFrame>) -> bool {
        frame.is_some_and(|frame| frame.method == self.first)
    }

    /// How much of these frames is a virtual thread's, if one is among them. What returns to the
    /// barrier a walk that knows of none takes for what the carrier has called.
    pub fn part(&self, frames: &[RawFrame]) -> Part {
        let count = u32::try_from(frames.len()).unwrap_or(u32::MAX);
        self.part_of(0..count, |index| frames.get(index as usize).copied())
    }

    /// The same, asked again and again while a walk adds frames: those that were added last.
    pub fn part_since(&self, before: u32, frames: &Frames<'_>) -> Part {
        self.part_of(before..frames.count(), |index| frames.get(index))
    }

    fn part_of(&self, added: Range<u32>, frame: impl Fn(u32) -> Option<RawFrame>) -> Part {
        let is = |index: u32, back: u32, method| {
            index.checked_sub(back).and_then(&frame).is_some_and(|frame| frame.method == method)
        };
        let carried =
            added.into_iter().find(|index| is(*index, 0, self.carries) && is(*index, 2, self.enters));
        // The carrier just enters it, or leaves it.
        let Some(entry) = carried.and_then(|index| index.checked_sub(2)).filter(|entry| *entry > 0) else {
            return Part::All;
        };
        let is_first = self.is_first(entry.checked_sub(1).and_then(&frame));
        if is_first { Part::First(entry) } else { Part::Torn }
    }

    /// The chunk in which the callers of a thread's oldest frame on the stack lie, which ends
    /// there, or has returned to the barrier with its stack pointer there; `None` if there is none,
    /// or it is not a virtual thread's.
    pub fn youngest_chunk(
        &self,
        memory: &impl Memory,
        java_thread: usize,
        end: usize,
        returned: bool,
    ) -> Option<Chunk> {
        let near = if returned { AT_BARRIER } else { NEAR };
        let is_near =
            |entry: &usize| *entry >= end && *entry < end.wrapping_add(near) && entry.is_multiple_of(WORD);
        let is_sought = self.entry.len() > WORD;
        let words = self.entry.clone().step_by(WORD);
        let mut entries = words.filter_map(|at| memory.word(java_thread.wrapping_add(at)).filter(is_near));
        let held = |at: usize| {
            let held = memory.word(at)?;
            // What is no entry may hold anything.
            if is_sought {
                memory.perhaps(held)?;
                memory.perhaps(held.wrapping_add(WORD))?;
            }
            let object = self.heap.object(memory, held)?;
            (self.heap.class(memory, object)? == self.class).then_some(object)
        };
        let continuation = entries.find_map(|entry| {
            self.continuation.clone().step_by(WORD).find_map(|at| held(entry.wrapping_add(at)))
        })?;
        match self.filled(memory, continuation.wrapping_add(self.last))? {
            Further::Is(chunk) => Some(chunk),
            Further::Nothing => None,
        }
    }

    /// The chunk that goes on where this one ends. `None` if that cannot be told.
    pub fn older_chunk(&self, memory: &impl Memory, chunk: Chunk) -> Option<Further<Chunk>> {
        self.filled(memory, chunk.object.wrapping_add(self.chunk.before))
    }

    /// The first chunk with a frame in it, from the one on that a field refers to.
    fn filled(&self, memory: &impl Memory, field: usize) -> Option<Further<Chunk>> {
        let mut field = field;
        for _ in 0..CHUNKS {
            let object = self.heap.follow(memory, field)?;
            if object == 0 {
                return Some(Further::Nothing);
            }
            let chunk = self.chunk(memory, object)?;
            if !chunk.is_empty() {
                return Some(Further::Is(chunk));
            }
            field = chunk.object.wrapping_add(self.chunk.before);
        }
        None
    }

    fn chunk(&self, memory: &impl Memory, object: usize) -> Option<Chunk> {
        let ChunkLayout { class, size, youngest, end, frames, .. } = self.chunk;
        if self.heap.class(memory, object)? != class {
            return None;
        }
        let number = |at: usize| usize::try_from(memory.int(object.wrapping_add(at))?).ok();
        let (size, youngest) = (number(size)?, number(youngest)?);
        let end = match end {
            End::At(at) => number(at)?,
            End::Before(at) => size.checked_sub(number(at)?)?,
        };
        let place = |words: usize| distant(object.wrapping_add(frames), words);
        (youngest <= size && end <= size).then_some(Chunk { object, begin: place(youngest), end: place(end) })
    }
}
