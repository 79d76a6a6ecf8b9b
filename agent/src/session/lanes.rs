//! The memory of lanes: it costs nothing until it is touched.
//!
//! Who writes into lanes holds them by reference, so they must never be dropped before the gate
//! that leads to them was closed and found empty.

use vouch_signal::lane::{Lane, Word};

use crate::untouched::Untouched;

/// Lanes of one length, with their memory.
#[derive(Debug)]
pub struct Lanes {
    lanes: *mut [Lane<'static>],
    /// Given back when the lanes are gone, which borrow them.
    _words: Vec<Untouched<Word>>,
}

// SAFETY: the pointer is owned; what it points to may be used from every thread.
unsafe impl Send for Lanes {}

impl Lanes {
    /// So many lanes of so many words.
    pub fn new(count: usize, size: usize) -> Self {
        // SAFETY: a word of zeroes is a valid word, and nothing has to be done for it at its end.
        let words: Vec<Untouched<Word>> = (0..count).map(|_| unsafe { Untouched::new(size) }).collect();
        // SAFETY: the memory is given back after everything that borrows it.
        let lanes = words.iter().map(|words| Lane::new(unsafe { words.lent() })).collect();
        Self { lanes: Box::into_raw(lanes), _words: words }
    }

    /// For who writes, or reads.
    ///
    /// # Safety
    /// Nobody may use them once they were dropped.
    pub unsafe fn lent(&self) -> &'static [Lane<'static>] {
        // SAFETY: alive until they are dropped; the rest is the caller's promise.
        unsafe { &*self.lanes }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new`; the words outlive it.
        drop(unsafe { Box::from_raw(self.lanes) });
    }
}
