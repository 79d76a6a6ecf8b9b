//! The memory of lanes, which costs nothing until it is written.
//!
//! Writers hold lanes by reference. Lanes must therefore never be dropped before the gate that
//! leads to them was closed and is empty.

use vouch_sampling::lazy_zeroed::LazyZeroed;
use vouch_signal::lane::{Lane, Word};

/// Lanes of one length, with their memory.
#[derive(Debug)]
pub struct Lanes {
    lanes: *mut [Lane<'static>],
    /// The memory that the lanes borrow; it is freed after them.
    _words: Vec<LazyZeroed<Word>>,
}

// SAFETY: the pointer is owned, and its target may be used from every thread.
unsafe impl Send for Lanes {}

impl Lanes {
    /// Makes `count` lanes of `size` words.
    pub fn new(count: usize, size: usize) -> Self {
        // SAFETY: a word of zeroes is a valid word, and needs no drop.
        let words: Vec<LazyZeroed<Word>> = (0..count).map(|_| unsafe { LazyZeroed::new(size) }).collect();
        // SAFETY: the memory is freed after everything that borrows it.
        let lanes = words.iter().map(|words| Lane::new(unsafe { words.as_static() })).collect();
        Self { lanes: Box::into_raw(lanes), _words: words }
    }

    /// Returns the lanes for a writer or a reader.
    ///
    /// # Safety
    /// The caller must not use the lanes after they were dropped.
    pub unsafe fn as_static(&self) -> &'static [Lane<'static>] {
        // SAFETY: the lanes live until this is dropped; the caller guarantees the rest.
        unsafe { &*self.lanes }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY: `new` made it by `Box::into_raw`, and the words outlive it.
        drop(unsafe { Box::from_raw(self.lanes) });
    }
}
