//! The memory that handlers and event publishers borrow: lanes, and the structures that lead to
//! them.
//!
//! Both gates point into memory of one setup. It must never be freed while a thread may be
//! inside a gate. If a thread does not leave in time, the memory is leaked.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vouch_sampling::clock;
use vouch_sampling::engine::Engine;
use vouch_sampling::threads::registry;
use vouch_signal::event::{EVENT_GATE, EventLanes};
use vouch_signal::lane::Lane;
use vouch_signal::outlet::Outlet;
use vouch_signal::sampler::{Counters, GATE, Sampler};
use vouch_signal::witness_rendezvous::{PollOffsets, WitnessRendezvous};
use vouch_unwind::native_walker::NativeWalker;
use vouch_unwind::recover::Recovery;

use super::lanes::Lanes;
use crate::wake;
use crate::walkers::Walkers;

/// The minimum size of a lane in words: 1 MiB. A drained lane touches only its beginning.
const LANE_WORDS: usize = 1 << 17;
/// How many of the longest samples a lane must hold at least.
const LANE_SAMPLES: usize = 2;
/// The minimum number of frames that a walk has memory for, however few are kept. The end of a
/// virtual thread's stack takes several frames to recognise.
const LEAST_WALKED: usize = 64;
/// The minimum drain cost of a sample's word, in nanoseconds, also assumed until it is measured.
/// It holds for similar stacks.
const PRICE: u64 = 5;
/// The number and size of lanes for events. In all they hold some 5,000 events with a stack of
/// fifty frames between two drains.
const EVENT_LANES: usize = 8;
const EVENT_LANE_WORDS: usize = 1 << 16;

/// How long handlers may take to leave after the gate was closed. After that their memory is
/// leaked.
const LEAVE: Duration = Duration::from_secs(2);

/// The memory that signal handlers and event callbacks use. Two gates close it before it is freed.
#[derive(Debug)]
pub struct SamplerSetup {
    sampler: *mut Sampler,
    events: *mut EventLanes,
    lanes: ManuallyDrop<Lanes>,
    event_lanes: ManuallyDrop<Lanes>,
}

// SAFETY: the pointers are owned, and their targets may be used from every thread.
unsafe impl Send for SamplerSetup {}

impl SamplerSetup {
    pub fn new(
        walkers: &Walkers,
        recovery: Option<Recovery>,
        depth: usize,
        interval: Duration,
        engine: Engine,
        polls: Option<PollOffsets>,
        native: Option<&'static dyn NativeWalker>,
    ) -> Self {
        let processors = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
        // A handler may be preempted while it holds its lane, so there are more lanes than
        // processors.
        let count = (processors * 4).clamp(8, 64);
        let mut sampler = Box::new(Sampler {
            walkers: walkers.list,
            compare_every: walkers.compare,
            vthread_reader: walkers.reads,
            carrier_filter: walkers.parts,
            recovery,
            native,
            depth: depth.max(LEAST_WALKED),
            interval: clock::nanos(interval),
            user_only: engine.user_only(),
            rests_after_slow_walks: engine.rests(),
            paused: AtomicBool::new(false),
            slots: registry().slots(),
            outlet: Outlet { lanes: &[], wake: wake::semaphore() },
            counters: Counters::default(),
            drain_ns_per_word: AtomicU64::new(PRICE),
            witness_wanted: AtomicBool::new(false),
            rendezvous: WitnessRendezvous::new(polls),
        });
        let size = LANE_WORDS.max(LANE_SAMPLES * sampler.max_words(sampler.depth));
        let (lanes, event_lanes) = (Lanes::new(count, size), Lanes::new(EVENT_LANES, EVENT_LANE_WORDS));
        // SAFETY: freed in `drop`, once the gate is closed and empty.
        sampler.outlet.lanes = unsafe { lanes.as_static() };
        // SAFETY: as above.
        let outlet = Outlet { lanes: unsafe { event_lanes.as_static() }, wake: wake::semaphore() };
        let events = Box::new(EventLanes { outlet, lost: AtomicU64::new(0) });
        let (sampler, events) = (Box::into_raw(sampler), Box::into_raw(events));
        Self { sampler, events, lanes: ManuallyDrop::new(lanes), event_lanes: ManuallyDrop::new(event_lanes) }
    }

    /// Opens the gate for handlers.
    pub fn open(&self) {
        GATE.open(self.sampler);
    }

    /// Pauses sampling until `go_on`, and waits until no sample is being taken. Handlers still
    /// count signals.
    pub fn pause(&self) {
        self.set_paused(true);
        settled(|| GATE.is_empty());
    }

    /// Resumes sampling.
    pub fn go_on(&self) {
        self.set_paused(false);
    }

    fn set_paused(&self, paused: bool) {
        // SAFETY: alive as long as the setup; an atomic.
        unsafe { &(*self.sampler).paused }.store(paused, Ordering::Release);
    }

    /// Opens the gate for events.
    pub fn open_events(&self) {
        EVENT_GATE.open(self.events);
    }

    pub fn lanes(&self) -> &[Lane<'static>] {
        // SAFETY: borrowed from this setup, which owns them.
        unsafe { self.lanes.as_static() }
    }

    pub fn event_lanes(&self) -> &[Lane<'static>] {
        // SAFETY: as above.
        unsafe { self.event_lanes.as_static() }
    }

    /// Counts samples and losses anew, for a period. The sampler must be paused.
    pub fn begin_period(&self) {
        self.counters().begin_period();
        if let Some(recovery) = self.recovery() {
            recovery.tried.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
        // SAFETY: alive as long as the setup; an atomic.
        unsafe { &(*self.events).lost }.store(0, Ordering::Relaxed);
    }

    /// Returns how many events were lost because the lanes were full.
    pub fn events_lost(&self) -> u64 {
        // SAFETY: alive as long as the setup; an atomic.
        unsafe { &(*self.events).lost }.load(Ordering::Relaxed)
    }

    /// Records that the drain took `nanos` nanoseconds for `words` words.
    pub fn record_drain_cost(&self, nanos: u64, words: u64) {
        /// The number of words after which a measured cost fully replaces the old one. Fewer words
        /// count in proportion.
        const TELLING: u64 = 100_000;
        // SAFETY: alive as long as the setup; an atomic.
        let price = unsafe { &(*self.sampler).drain_ns_per_word };
        let share = words.min(TELLING);
        let known = price.load(Ordering::Relaxed).saturating_mul(TELLING - share);
        let now = nanos.saturating_mul(share).checked_div(words).unwrap_or(0);
        price.store((known.saturating_add(now) / TELLING).max(PRICE), Ordering::Relaxed);
    }

    /// Requests a witness for the next walk that succeeds.
    pub fn want_witness(&self) {
        // SAFETY: alive as long as the setup; an atomic.
        unsafe { &(*self.sampler).witness_wanted }.store(true, Ordering::Release);
    }

    /// Returns the rendezvous where the thread of a witnessed sample waits.
    pub fn rendezvous(&self) -> &WitnessRendezvous {
        // SAFETY: as above.
        unsafe { &(*self.sampler).rendezvous }
    }

    /// Returns the recovery of failed walks, with the count of its attempts.
    pub fn recovery(&self) -> Option<&Recovery> {
        // SAFETY: as above; its counters are atomics.
        unsafe { &(*self.sampler).recovery }.as_ref()
    }

    pub fn counters(&self) -> &Counters {
        // SAFETY: as above; the counters are atomics.
        unsafe { &(*self.sampler).counters }
    }
}

/// Closes the gate for handlers, and waits until none is inside. Returns false if one does not
/// leave in time.
pub fn close() -> bool {
    GATE.close();
    settled(|| GATE.is_empty())
}

/// Returns true while no handler and no event is inside a gate.
pub fn is_empty() -> bool {
    GATE.is_empty() && EVENT_GATE.is_empty()
}

/// Closes the gate for events, and waits until the last one is published. Returns false if that
/// takes too long.
pub fn close_events() -> bool {
    EVENT_GATE.close();
    settled(|| EVENT_GATE.is_empty())
}

/// Waits until `done` returns true. Returns false if that takes too long.
fn settled(done: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !done() {
        if begun.elapsed() > LEAVE {
            return false;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    true
}

impl Drop for SamplerSetup {
    fn drop(&mut self) {
        let (handlers_left, events_left) = (close(), close_events());
        // A handler that has not returned may still write to the memory, which is leaked in that
        // case.
        if handlers_left && events_left {
            // SAFETY: `new` made them by `Box::into_raw`, and no thread is inside the gates that
            // lead there. What borrows is dropped first.
            unsafe {
                drop(Box::from_raw(self.sampler));
                drop(Box::from_raw(self.events));
                ManuallyDrop::drop(&mut self.lanes);
                ManuallyDrop::drop(&mut self.event_lanes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_sample::{Event, MAX_VALUES};
    use vouch_signal::event::{EventDetails, publish, read};

    #[test]
    fn events_come_in_while_the_setup_exists_and_no_longer() {
        let event = Event { kind: 1, began: 2, ended: 3, tid: 4, serial: 5, values: [6; MAX_VALUES] };
        let nobody = Walkers { list: &[], compare: 1, own: None, reads: None, parts: None, missing: None };
        let sampler_setup =
            SamplerSetup::new(&nobody, None, 1, Duration::from_millis(1), Engine::Timer, None, None);
        publish(&event, EventDetails::default());
        sampler_setup.open();
        sampler_setup.open_events();
        publish(&event, EventDetails::default());
        let mut seen = Vec::new();
        for lane in sampler_setup.event_lanes() {
            lane.drain(|entry| seen.push(read(entry)));
        }
        assert_eq!((seen, sampler_setup.events_lost()), (vec![Some(event)], 0));
        drop(sampler_setup);
        assert!(!EVENT_GATE.is_open() && !GATE.is_open());
        publish(&event, EventDetails::default());
    }
}
