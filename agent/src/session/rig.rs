//! What handlers, and those who publish events, are lent: lanes, and what names them.
//!
//! Both sides point into memory of their own rig, so it must not be dropped while somebody may be inside of a gate: the session
//! sees to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use vouch_signal::event::{EVENTS, EventLanes};
use vouch_signal::handler::{Counters, GATE, Sampler};
use vouch_signal::lane::Lane;
use vouch_signal::record::longest;

use super::lanes::Lanes;
use crate::clock;
use crate::threads::registry;
use crate::wake;
use crate::walkers::Walkers;

/// A lane's least size in words: 1 MiB, of which a drained lane only ever touches the beginning.
const LANE_WORDS: usize = 1 << 17;
/// How many of the longest samples a lane must hold at least.
const LANE_SAMPLES: usize = 4;
/// Lanes for events, and their size: in all, some 7,000 events from one drain to the next.
const EVENT_LANES: usize = 4;
const EVENT_LANE_WORDS: usize = 1 << 14;

/// Lanes and sampler.
#[derive(Debug)]
pub struct Rig {
    sampler: *mut Sampler,
    events: *mut EventLanes,
    lanes: Lanes,
    event_lanes: Lanes,
}

// SAFETY: the pointers are owned; what they point to may be used from every thread.
unsafe impl Send for Rig {}

impl Rig {
    pub fn new(walkers: Walkers, depth: usize, interval: Duration, user_only: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
        // A handler may be preempted with its lane claimed, so there are more lanes than processors.
        let count = (processors * 4).clamp(8, 64);
        let size = LANE_WORDS.max(LANE_SAMPLES * longest(walkers.len(), depth + 1));
        let (lanes, event_lanes) = (Lanes::new(count, size), Lanes::new(EVENT_LANES, EVENT_LANE_WORDS));
        let sampler = Box::new(Sampler {
            walkers,
            depth,
            interval: clock::nanos(interval),
            lanes: lanes.lent(),
            user_only,
            slots: registry().slots(),
            wake: wake::semaphore(),
            counters: Counters::default(),
            witness_wanted: AtomicBool::new(false),
        });
        let events = Box::new(EventLanes { lanes: event_lanes.lent(), lost: AtomicU64::new(0) });
        Self { sampler: Box::into_raw(sampler), events: Box::into_raw(events), lanes, event_lanes }
    }

    /// Lets handlers in.
    pub fn open(&self) {
        GATE.open(self.sampler);
    }

    /// Lets events in.
    pub fn open_events(&self) {
        EVENTS.open(self.events);
    }

    pub fn lanes(&self) -> &[Lane<'static>] {
        self.lanes.lent()
    }

    pub fn event_lanes(&self) -> &[Lane<'static>] {
        self.event_lanes.lent()
    }

    /// How many events there was no room for.
    pub fn events_lost(&self) -> u64 {
        // SAFETY: alive as long as the rig; an atomic.
        unsafe { &(*self.events).lost }.load(Ordering::Relaxed)
    }

    /// Has the next walk that succeeds witnessed.
    pub fn want_witness(&self) {
        // SAFETY: alive as long as the rig; an atomic.
        unsafe { &(*self.sampler).witness_wanted }.store(true, Ordering::Release);
    }

    pub fn counters(&self) -> &Counters {
        // SAFETY: as above; the counters are atomics.
        unsafe { &(*self.sampler).counters }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new`; the lanes that they borrow are dropped after them.
        unsafe {
            drop(Box::from_raw(self.sampler));
            drop(Box::from_raw(self.events));
        }
    }
}
