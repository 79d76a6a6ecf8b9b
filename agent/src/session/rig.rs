//! The memory that handlers write into: lanes, and the sampler that names them.
//!
//! The sampler points into memory of its own rig, so the rig must not be dropped while a handler may be inside
//! the gate: the session sees to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use vouch_signal::handler::{Counters, GATE, Sampler};
use vouch_signal::lane::{Lane, Word};
use vouch_signal::record::longest;

use crate::clock;
use crate::threads::registry;
use crate::wake;
use crate::walkers::Walkers;

/// A lane's least size in words: 1 MiB, of which a drained lane only ever touches the beginning.
const LANE_WORDS: usize = 1 << 17;
/// How many of the longest samples a lane must hold at least.
const LANE_SAMPLES: usize = 4;

/// Lanes and sampler.
#[derive(Debug)]
pub struct Rig {
    sampler: *mut Sampler,
    lanes: *mut [Lane<'static>],
    words: Vec<*mut [Word]>,
}

// SAFETY: the pointers are owned; what they point to may be used from every thread.
unsafe impl Send for Rig {}

impl Rig {
    pub fn new(walkers: Walkers, depth: usize, interval: Duration, user_only: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
        // A handler may be preempted with its lane claimed, so there are more lanes than processors.
        let count = (processors * 4).clamp(8, 64);
        let size = LANE_WORDS.max(LANE_SAMPLES * longest(walkers.len(), depth + 1));
        let words: Vec<*mut [Word]> = (0..count).map(|_| Box::into_raw(zeroed(size))).collect();
        // SAFETY: the memory is freed in `drop`, after everything that borrows it.
        let lanes = words.iter().map(|words| Lane::new(unsafe { &**words })).collect();
        let lanes: *mut [Lane<'static>] = Box::into_raw(lanes);
        let sampler = Box::new(Sampler {
            walkers,
            depth,
            interval: clock::nanos(interval),
            // SAFETY: as above.
            lanes: unsafe { &*lanes },
            user_only,
            slots: registry().slots(),
            wake: wake::semaphore(),
            counters: Counters::default(),
            witness_wanted: AtomicBool::new(false),
        });
        Self { sampler: Box::into_raw(sampler), lanes, words }
    }

    /// Lets handlers in.
    pub fn open(&self) {
        GATE.open(self.sampler);
    }

    pub fn lanes(&self) -> &[Lane<'static>] {
        // SAFETY: alive as long as the rig.
        unsafe { &*self.lanes }
    }

    /// Has the next walk that succeeds witnessed.
    pub fn want_witness(&self) {
        // SAFETY: as above.
        unsafe { &(*self.sampler).witness_wanted }.store(true, Ordering::Release);
    }

    pub fn counters(&self) -> &Counters {
        // SAFETY: as above; the counters are atomics.
        unsafe { &(*self.sampler).counters }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new`, and dropped in the order in which they borrow.
        unsafe {
            drop(Box::from_raw(self.sampler));
            drop(Box::from_raw(self.lanes));
            for words in self.words.drain(..) {
                drop(Box::from_raw(words));
            }
        }
    }
}

/// Memory that costs nothing until it is touched.
fn zeroed(size: usize) -> Box<[Word]> {
    // SAFETY: a word of zeroes is a valid word.
    unsafe { Box::new_zeroed_slice(size).assume_init() }
}
