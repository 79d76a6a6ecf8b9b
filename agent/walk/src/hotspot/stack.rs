//! The memory that a walk may take for a thread's stack.

use core::cell::Cell;
use core::ops::Range;

use super::continuation::{Chunk, distant};
use crate::context::Registers as Position;
use crate::memory::Memory;

/// What of the thread's stack may be read: its own, or the chunk that it goes on in.
#[derive(Debug)]
pub struct Stack<'m, M> {
    memory: &'m M,
    begin: Cell<usize>,
    end: Cell<usize>,
    chunk: Cell<Option<Chunk>>,
}

impl<'m, M: Memory> Stack<'m, M> {
    pub(super) fn new(memory: &'m M, range: Range<usize>) -> Self {
        Self { memory, begin: Cell::new(range.start), end: Cell::new(range.end), chunk: Cell::new(None) }
    }

    /// A word of it.
    pub fn word(&self, at: usize) -> Option<usize> {
        let inside = at >= self.begin.get() && at < self.end.get();
        if inside { self.memory.word(at) } else { None }
    }

    /// What a word of an interpreter's frame means, whose distances count from there.
    pub fn place(&self, word: usize, from: usize) -> usize {
        if self.chunk.get().is_some() { distant(from, word) } else { word }
    }

    /// The frame pointer of whoever called the frame that has it there.
    pub fn link(&self, at: usize) -> Option<usize> {
        Some(self.place(self.word(at)?, at))
    }

    /// The chunk that it goes on in, if it does.
    pub(super) fn chunk(&self) -> Option<Chunk> {
        self.chunk.get()
    }

    /// Goes on in a chunk.
    pub(super) fn enter(&self, chunk: Chunk) -> Option<Position> {
        let range = chunk.range();
        self.begin.set(range.start);
        self.end.set(range.end);
        self.chunk.set(Some(chunk));
        chunk.youngest(self.memory)
    }
}
