//! What a handler may know of the thread that it interrupted: a table of slots, found by the
//! thread's id.
//!
//! The table has a fixed size and open addressing. The agent inserts and removes, one change at a
//! time; a handler only looks up the id of its own thread, whose slot cannot be removed under it:
//! the agent removes a slot on the thread itself, or when the thread is gone. No thread-local is
//! used, because in a library that was loaded late the first touch of one may allocate.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use vouch_walk::guard;
use vouch_walk::kernel::own_tid;

use crate::pending_intervals::Dues;
use crate::smoothed_cost::Usual;
use crate::thread_context::Purpose;

/// The key of a slot that was never used: a search ends here.
const EMPTY: u32 = 0;
/// The key of a slot that was given back: a search goes on.
const REMOVED: u32 = u32::MAX;
/// How far a thread's slot may lie from where its id hashes to.
const REACH: usize = 512;
/// So many ids in sequence have slots in sequence, each in its place: the kernel gives ids like
/// that, and of a table that lies in memory only where it is used, threads that come one after the
/// other use little.
const NEIGHBOURS: u32 = 16;

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// By CLOCK_MONOTONIC.
    pub since: u64,
    /// By which events say what they are.
    pub kind: u64,
    /// What is to be known of it at its end.
    pub note: u64,
}

/// One thread, as its handler sees it. All zero is a free slot.
#[derive(Debug, Default)]
pub struct Slot {
    tid: AtomicU32,
    serial: AtomicU32,
    /// The thread's JNIEnv, put here at ThreadStart and taken away at ThreadEnd. Null: nothing to
    /// walk.
    env: AtomicPtr<c_void>,
    /// Where the thread's Java code says for whom it works. Null: it has said nothing yet.
    purpose: AtomicPtr<Purpose>,
    /// 1: the thread is none of ours to sample, or not armed.
    excluded: AtomicU32,
    /// The weight that the agent owes the thread at its end: the next signal from the thread itself
    /// has it.
    owed: AtomicU32,
    /// 1: the thread's perf event has not its regular period yet.
    beginning: AtomicU32,
    /// 1: its first signal comes after the time at which it is due.
    late: AtomicU32,
    /// The thread's perf event; -1: it has none.
    descriptor: AtomicI32,
    /// What is due of the thread.
    pub dues: Dues,
    /// The CPU time before which no further sample is taken: the last one was dear.
    rest_until: AtomicU64,
    /// How long its walks usually take, in nanoseconds.
    pub usual: Usual,
    /// Signals that no sample stands for yet, where signals are counted and not the clock.
    signals: AtomicU32,
    /// The thread's CPU clock when the handler of a sample that is to be witnessed ended; 0 while
    /// it runs.
    left: AtomicU64,
    /// What the thread waits for, in its callbacks: since when (0: for nothing), and the rest of
    /// [`Wait`].
    waits: [AtomicU64; 3],
    /// While the thread walks: where its stack is to be unwound to if the walk faults. Else 0.
    walking: AtomicUsize,
}

impl Slot {
    /// The thread's serial number.
    #[inline]
    pub fn serial(&self) -> u32 {
        self.serial.load(Ordering::Relaxed)
    }

    /// True while it is the slot of this thread.
    pub fn is_of(&self, tid: u32, serial: u32) -> bool {
        self.tid.load(Ordering::Acquire) == tid && self.serial() == serial
    }

    /// The thread's JNIEnv, or null.
    #[inline]
    pub fn env(&self) -> *mut c_void {
        self.env.load(Ordering::Acquire)
    }

    /// Lets the handler walk this thread's Java stack, until `set_env` with null.
    pub fn set_env(&self, env: *mut c_void) {
        self.env.store(env, Ordering::Release);
    }

    /// For whom the thread works; `None` if it has said nothing yet.
    #[inline]
    pub fn purpose(&self) -> Option<&Purpose> {
        // SAFETY: null, or what is never freed, by the promise of `set_purpose`.
        unsafe { self.purpose.load(Ordering::Acquire).as_ref() }
    }

    /// From here on the thread says there for whom it works; `None`: it says nothing any more.
    pub fn set_purpose(&self, purpose: Option<&'static Purpose>) {
        let purpose = purpose.map_or(null_mut(), |purpose| core::ptr::from_ref(purpose).cast_mut());
        self.purpose.store(purpose, Ordering::Release);
    }

    /// True if signals of this thread are not to be taken as samples.
    #[inline]
    pub fn excluded(&self) -> bool {
        self.excluded.load(Ordering::Acquire) != 0
    }

    /// Takes the thread out of the recording, or in, once the slot has all that its engine's
    /// signals need.
    pub fn set_excluded(&self, excluded: bool) {
        self.excluded.store(u32::from(excluded), Ordering::Release);
    }

    /// Leaves a weight for the signal that the thread will send to itself.
    pub fn owe(&self, weight: u32) {
        self.owed.store(weight, Ordering::Relaxed);
    }

    /// Takes what is owed; 0 if nothing is.
    #[inline]
    pub fn take_owed(&self) -> u32 {
        if self.owed.load(Ordering::Relaxed) == 0 { 0 } else { self.owed.swap(0, Ordering::Relaxed) }
    }

    /// A perf event begins, or none: the handler is to give it its regular period, and needs its
    /// descriptor for that.
    pub fn set_beginning(&self, descriptor: i32, late: bool) {
        self.late.store(late.into(), Ordering::Relaxed);
        self.beginning.store(1, Ordering::Relaxed);
        self.descriptor.store(descriptor, Ordering::Release);
    }

    /// The perf event is about to be closed: the handler must not use its descriptor any more.
    pub fn end_event(&self) {
        self.descriptor.store(-1, Ordering::Relaxed);
    }

    /// The thread's perf event; `None` if it has none.
    #[inline]
    pub fn event(&self) -> Option<i32> {
        Some(self.descriptor.load(Ordering::Acquire)).filter(|descriptor| *descriptor >= 0)
    }

    /// The perf event whose period is not the regular one yet; `None` if there is none.
    #[inline]
    pub fn beginning(&self) -> Option<i32> {
        self.event().filter(|_| self.beginning.load(Ordering::Relaxed) != 0)
    }

    /// The period that follows the signal at hand, which has been answered; with one stride the
    /// event has begun.
    pub fn next_period(&self, cpu: u64, interval: u64) -> u64 {
        if self.late.swap(0, Ordering::Relaxed) == 0 {
            self.beginning.store(0, Ordering::Relaxed);
            return interval.saturating_mul(self.dues.stride().into());
        }
        self.dues.to_next(cpu, interval)
    }

    /// The engine is about to be armed: from here on the thread's intervals are counted.
    pub fn begin(&self, base: u64, stride: u32) {
        self.dues.begin(base, stride);
        self.signals.store(0, Ordering::Relaxed);
    }

    /// True until the thread's CPU clock has reached what `rest` said.
    #[inline]
    pub fn resting(&self, cpu: u64) -> bool {
        cpu < self.rest_until.load(Ordering::Relaxed)
    }

    /// Takes no samples of this thread before its CPU clock reaches `until`.
    pub fn rest(&self, until: u64) {
        self.rest_until.store(until, Ordering::Relaxed);
    }

    /// A signal has come, for one stride.
    pub fn count_signal(&self) {
        self.signals.fetch_add(self.dues.stride(), Ordering::Relaxed);
    }

    /// The intervals of signals that no sample stands for yet.
    pub fn signals(&self) -> u32 {
        self.signals.load(Ordering::Relaxed)
    }

    /// Takes the intervals of signals that no sample stands for yet.
    pub fn take_signals(&self) -> u32 {
        self.signals.swap(0, Ordering::Relaxed)
    }

    /// The handler has walked for a witness, and has not ended yet.
    pub fn enter_witnessed(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// It ends, at this time of the thread's CPU clock.
    pub fn leave_witnessed(&self, cpu: u64) {
        self.left.store(cpu, Ordering::Release);
    }

    /// When it ended; 0 if it has not yet.
    pub fn left_witnessed(&self) -> u64 {
        self.left.load(Ordering::Acquire)
    }

    /// The thread begins to wait.
    pub fn begin_wait(&self, Wait { since, kind, note }: Wait) {
        let [at, kinds, notes] = &self.waits;
        kinds.store(kind, Ordering::Relaxed);
        notes.store(note, Ordering::Relaxed);
        at.store(since, Ordering::Release);
    }

    /// It has come to an end; `None` if nobody saw it begin.
    pub fn end_wait(&self) -> Option<Wait> {
        let wait = self.wait();
        self.waits[0].store(0, Ordering::Release);
        wait
    }

    /// What the thread waits for; read by another one it is whole if it is the same a second time.
    pub fn wait(&self) -> Option<Wait> {
        let [since, kind, note] = self.waits.each_ref().map(|word| word.load(Ordering::Acquire));
        (since != 0).then_some(Wait { since, kind, note })
    }

    /// For the guard of a walk.
    #[inline]
    pub fn walking(&self) -> &AtomicUsize {
        &self.walking
    }

    fn reset(&self, serial: u32) {
        self.serial.store(serial, Ordering::Relaxed);
        self.env.store(null_mut(), Ordering::Relaxed);
        self.purpose.store(null_mut(), Ordering::Relaxed);
        self.excluded.store(1, Ordering::Relaxed);
        self.owed.store(0, Ordering::Relaxed);
        self.beginning.store(0, Ordering::Relaxed);
        self.descriptor.store(-1, Ordering::Relaxed);
        self.late.store(0, Ordering::Relaxed);
        self.dues.begin(0, 1);
        self.rest_until.store(0, Ordering::Relaxed);
        self.usual.forget();
        self.signals.store(0, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
        self.waits[0].store(0, Ordering::Relaxed);
        self.walking.store(0, Ordering::Relaxed);
    }
}

/// The table in which the guard finds who walks.
static GUARDED: AtomicPtr<Slots<'static>> = AtomicPtr::new(null_mut());

/// Has the guard end the walks of the threads in this table that fault.
pub fn guard_walks_of(slots: &'static Slots<'static>) {
    GUARDED.store(core::ptr::from_ref(slots).cast_mut(), Ordering::Release);
    // SAFETY: the table is only looked at, and a thread walks with the place in its own slot.
    unsafe {
        guard::set_slot_finder(|tid| {
            let slots = GUARDED.load(Ordering::Acquire).as_ref();
            slots?.find(tid).map(Slot::walking)
        });
    }
}

/// The calling thread's place for the guard; `None` if it has no slot.
pub fn own_walking() -> Option<&'static AtomicUsize> {
    // SAFETY: null, or the table that `guard_walks_of` was given, which lives for ever.
    let slots = unsafe { GUARDED.load(Ordering::Acquire).as_ref() };
    slots?.find(own_tid()).map(Slot::walking)
}

/// All slots. `insert` and `remove` must not run at the same time as another `insert` or `remove`.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'m> {
    slots: &'m [Slot],
}

impl<'m> Slots<'m> {
    /// A table over `slots`, all free.
    #[must_use]
    pub fn new(slots: &'m [Slot]) -> Self {
        Self { slots }
    }

    /// The places where `tid` may lie, nearest first.
    #[inline]
    fn places(&self, tid: u32) -> impl Iterator<Item = usize> + use<> {
        let size = self.slots.len();
        // Fibonacci hashing, which spreads a sequence evenly.
        let family = (u64::from(tid / NEIGHBOURS).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        let hash = family.wrapping_mul(NEIGHBOURS as usize).wrapping_add((tid % NEIGHBOURS) as usize);
        (0..REACH.min(size)).filter_map(move |step| hash.wrapping_add(step).checked_rem(size))
    }

    /// The slot of thread `tid`.
    #[inline]
    pub fn find(&self, tid: u32) -> Option<&'m Slot> {
        for place in self.places(tid) {
            let slot = self.slots.get(place)?;
            match slot.tid.load(Ordering::Acquire) {
                EMPTY => return None,
                key if key == tid => return Some(slot),
                _ => {}
            }
        }
        None
    }

    /// A slot for thread `tid`, fresh. One that the id's last owner left behind is taken over.
    /// `None`: no room.
    pub fn insert(&self, tid: u32, serial: u32) -> Option<&'m Slot> {
        let slot = self.find(tid).or_else(|| {
            self.places(tid).filter_map(|place| self.slots.get(place)).find(|slot| {
                let key = slot.tid.load(Ordering::Relaxed);
                key == EMPTY || key == REMOVED
            })
        })?;
        slot.reset(serial);
        slot.tid.store(tid, Ordering::Release);
        Some(slot)
    }

    /// Gives the slot of thread `tid` back.
    pub fn remove(&self, tid: u32) {
        let Some(found) = self
            .places(tid)
            .find(|place| self.slots.get(*place).is_some_and(|s| s.tid.load(Ordering::Relaxed) == tid))
        else {
            return;
        };
        let size = self.slots.len();
        let key = |place: usize| self.slots.get(place).map_or(EMPTY, |s| s.tid.load(Ordering::Relaxed));
        let set = |place: usize, key: u32| {
            if let Some(slot) = self.slots.get(place) {
                slot.tid.store(key, Ordering::Release);
            }
        };
        set(found, REMOVED);
        // Nothing lies behind the last of a run: its removed slots need not stop anyone's search
        // any more.
        let mut place = found;
        while key((place + 1) % size) == EMPTY && key(place) == REMOVED {
            set(place, EMPTY);
            place = (place + size - 1) % size;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    fn table(size: usize) -> &'static [Slot] {
        Vec::leak((0..size).map(|_| Slot::default()).collect())
    }

    #[test]
    fn of_a_free_slot_all_is_zero() {
        // SAFETY: numbers and pointers, each of which may be zero.
        let zeros: Slot = unsafe { core::mem::zeroed() };
        assert_eq!(std::format!("{zeros:?}"), std::format!("{:?}", Slot::default()));
    }

    #[test]
    fn a_wait_is_seen_until_it_ends() {
        let slots = Slots::new(table(4));
        let slot = slots.insert(7, 1).unwrap();
        assert_eq!((slot.wait(), slot.end_wait()), (None, None));
        let wait = Wait { since: 100, kind: 5, note: 6 };
        slot.begin_wait(wait);
        assert_eq!((slot.wait(), slot.end_wait(), slot.wait()), (Some(wait), Some(wait), None));
        slot.begin_wait(wait);
        assert!(slot.is_of(7, 1) && !slot.is_of(7, 2) && !slot.is_of(8, 1));
        slots.remove(7);
        assert!(!slot.is_of(7, 1), "a thread that has given it back must not use it");
        assert_eq!(slots.insert(7, 2).unwrap().wait(), None, "whoever has the slot next waits for nothing");
    }

    #[test]
    fn threads_come_and_go_without_losing_one_another() {
        let slots = Slots::new(table(512));
        let mut alive = HashMap::new();
        let mut random = 1_u32;
        for serial in 1..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let tid = random % 3_000 + 1;
            if alive.len() > 200 || alive.contains_key(&tid) {
                let victim = *alive.keys().min_by_key(|t| (*t ^ random) % 1_024).unwrap();
                slots.remove(victim);
                alive.remove(&victim);
            }
            alive.entry(tid).or_insert_with(|| {
                slots.insert(tid, serial).unwrap();
                serial
            });
            for (tid, serial) in &alive {
                assert_eq!(slots.find(*tid).map(Slot::serial), Some(*serial));
            }
            assert!(slots.find(5_000).is_none());
        }
    }

    #[test]
    fn threads_that_come_one_after_the_other_use_little_of_the_table() {
        let slots = Slots::new(table(1 << 16));
        let page = |tid| core::ptr::from_ref(slots.insert(tid, tid).unwrap()) as usize / 4096;
        let pages: std::collections::HashSet<usize> = (5_000..6_024).map(page).collect();
        assert!(pages.len() <= 130, "{} pages for 1,024 threads", pages.len());
        assert!((5_000..6_024).all(|tid| slots.find(tid).is_some_and(|slot| slot.serial() == tid)));
    }

    #[test]
    fn a_table_nearly_full_of_a_sequence_has_room_for_it() {
        let slots = Slots::new(table(1 << 16));
        assert!((100..50_100).all(|tid| slots.insert(tid, tid).is_some()));
        assert!((100..50_100).all(|tid| slots.find(tid).is_some_and(|slot| slot.serial() == tid)));
    }

    #[test]
    fn a_table_that_emptied_is_as_good_as_new() {
        let memory = table(256);
        let slots = Slots::new(memory);
        for tid in 1..=128 {
            slots.insert(tid, tid).unwrap();
        }
        for tid in 1..=128 {
            slots.remove(tid);
        }
        let left = memory.iter().filter(|s| s.tid.load(Ordering::Relaxed) == REMOVED).count();
        assert!(left < 8, "{left} slots still stop a search");
    }

    #[test]
    fn an_id_that_returns_gets_nothing_of_its_last_owner() {
        static PURPOSE: Purpose = Purpose::none();
        let slots = Slots::new(table(8));
        let old = slots.insert(7, 1).unwrap();
        old.set_env(8 as *mut c_void);
        old.set_purpose(Some(&PURPOSE));
        assert_eq!(old.purpose().map(Purpose::read), Some((0, None)));
        old.owe(3);
        old.dues.answer(5);
        let new = slots.insert(7, 2).unwrap();
        assert!(new.env().is_null() && new.purpose().is_none());
        assert_eq!((new.serial(), new.take_owed(), new.dues.due(10, 1)), (2, 0, 10));
    }

    #[test]
    fn a_full_table_says_so() {
        let slots = Slots::new(table(4));
        assert!((1..=4).all(|tid| slots.insert(tid, tid).is_some()));
        assert!(slots.insert(5, 5).is_none());
    }
}
