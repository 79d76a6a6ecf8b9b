//! The memory of lanes: it costs nothing until it is touched.
//!
//! Who writes into lanes holds them by reference, so they must never be dropped before the gate that leads to them was closed and
//! found empty.

use vouch_signal::lane::{Lane, Word};

/// Lanes of one length, with their memory.
#[derive(Debug)]
pub struct Lanes {
    lanes: *mut [Lane<'static>],
    words: Vec<*mut [Word]>,
}

// SAFETY: the pointers are owned; what they point to may be used from every thread.
unsafe impl Send for Lanes {}

impl Lanes {
    /// So many lanes of so many words.
    pub fn new(count: usize, size: usize) -> Self {
        let words: Vec<*mut [Word]> = (0..count).map(|_| Box::into_raw(zeroed(size))).collect();
        // SAFETY: the memory is freed in `drop`, after everything that borrows it.
        let lanes = words.iter().map(|words| Lane::new(unsafe { &**words })).collect();
        Self { lanes: Box::into_raw(lanes), words }
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
        // SAFETY: made by `Box::into_raw` in `new`, and dropped in the order in which they borrow.
        unsafe {
            drop(Box::from_raw(self.lanes));
            for words in self.words.drain(..) {
                drop(Box::from_raw(words));
            }
        }
    }
}

fn zeroed(size: usize) -> Box<[Word]> {
    // SAFETY: a word of zeroes is a valid word.
    unsafe { Box::new_zeroed_slice(size).assume_init() }
}
