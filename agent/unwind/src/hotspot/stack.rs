//! The memory that a walk may read frames from.

use core::cell::Cell;
use core::ops::Range;

use super::continuation::{Chunk, words_from};
use crate::context::Registers as Position;
use crate::memory::Memory;

/// The memory that has the frames being walked: the thread's stack, or the chunk of a virtual
/// thread that is walked now.
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

    /// Reads a word of the stack or chunk. The result is `None` outside of it.
    pub fn word(&self, at: usize) -> Option<usize> {
        let inside = at >= self.begin.get() && at < self.end.get();
        if inside { self.memory.word(at) } else { None }
    }

    /// Converts a word of an interpreted frame to an address. On the stack the word is the address.
    /// In a chunk it is a distance in words from the address `from`.
    pub fn derelativize(&self, word: usize, from: usize) -> usize {
        if self.chunk.get().is_some() { words_from(from, word) } else { word }
    }

    /// Reads a frame pointer that a frame has saved at an address.
    pub fn link(&self, at: usize) -> Option<usize> {
        Some(self.derelativize(self.word(at)?, at))
    }

    /// Returns the virtual thread's chunk that is walked now, or `None` on the thread's stack.
    pub(super) fn chunk(&self) -> Option<Chunk> {
        self.chunk.get()
    }

    /// Continues the walk in a chunk, and returns the registers of the chunk's youngest frame.
    pub(super) fn enter(&self, chunk: Chunk) -> Option<Position> {
        let range = chunk.range();
        self.begin.set(range.start);
        self.end.set(range.end);
        self.chunk.set(Some(chunk));
        chunk.youngest(self.memory)
    }
}
