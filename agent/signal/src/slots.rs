//! The table of threads. A handler finds the slot of the interrupted thread in it by the thread's
//! id.
//!
//! The table has a fixed size and open addressing. The agent inserts and removes slots, one change
//! at a time. A handler only looks up its own thread. That thread's slot cannot be removed
//! meanwhile, because the agent removes a slot on the thread itself or after the thread is gone. No
//! thread-local is used: in a library that was loaded late, the first access of one may allocate.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use vouch_unwind::guard;
use vouch_unwind::kernel::own_tid;

use crate::kernel_frames::KernelFrames;
use crate::pending_intervals::PendingIntervals;
use crate::smoothed_cost::SmoothedCost;
use crate::thread_context::ThreadContext;

/// The thread id in a slot that was never used. A search ends at such a slot.
const EMPTY: u32 = 0;
/// The thread id in a slot that was removed. A search continues after such a slot.
const REMOVED: u32 = u32::MAX;
/// The maximal distance of a thread's slot from the index that its hash gives, in slots.
const MAX_PROBES: usize = 512;
/// The number of sequential thread ids that have sequential slots. The kernel hands out ids in
/// sequence, so threads that start one after another use few pages of the table.
const SEQUENTIAL_IDS: u32 = 16;

/// A period in which a thread waits, such as for a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The time when the wait began: CLOCK_MONOTONIC, in nanoseconds.
    pub since: u64,
    /// The kind of the event that the wait becomes when it ends.
    pub kind: u64,
    /// A value that the event needs when the wait ends.
    pub note: u64,
}

/// A thread that waits, and what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub tid: u32,
    pub serial: u32,
    pub wait: Wait,
}

/// The data of one thread that its handler uses. All zero is a free slot.
#[derive(Debug, Default)]
pub struct Slot {
    tid: AtomicU32,
    serial: AtomicU32,
    /// The thread's JNIEnv, set at ThreadStart and removed at ThreadEnd. Without it the thread has
    /// no Java stack to walk.
    env: AtomicPtr<c_void>,
    /// The memory in which the thread's Java code publishes its context. It is null until the
    /// thread uses it.
    thread_context: AtomicPtr<ThreadContext>,
    /// The value 1 if the thread is not sampled, or its engine is not armed.
    excluded: AtomicU32,
    /// The weight of the sample at the thread's end. The signal that the thread then sends itself
    /// takes it.
    end_weight: AtomicU32,
    /// The value 1 until the thread's perf event has its regular period.
    beginning: AtomicU32,
    /// The value 1 if the thread's first signal comes after its due time.
    late: AtomicU32,
    /// The file descriptor of the thread's perf event, or -1.
    descriptor: AtomicI32,
    /// The ring with the kernel's frames of the thread's perf event, if it has one.
    pub kernel_frames: KernelFrames,
    /// The intervals of the thread that are due and not yet covered by a sample.
    pub pending: PendingIntervals,
    /// The thread's CPU time before which no further sample is taken, after a slow walk.
    rest_until: AtomicU64,
    /// The smoothed cost of the thread's samples, in nanoseconds.
    pub walk_cost: SmoothedCost,
    /// The intervals of signals that no sample covers yet. They are used if weights come from
    /// signals instead of the clock.
    signals: AtomicU32,
    /// The thread's CPU clock at the end of a witnessed sample's handler, or 0 while the handler
    /// runs.
    witnessed_handler_end: AtomicU64,
    /// The thread's current [`Wait`], for the agent's callbacks: its beginning (0 without a wait),
    /// kind and note.
    waits: [AtomicU64; 3],
    /// The stack pointer to unwind to if a walk of this thread faults. It is 0 outside of walks.
    walking: AtomicUsize,
}

impl Slot {
    /// Returns the thread's serial number, which the agent gave it.
    #[inline]
    pub fn serial(&self) -> u32 {
        self.serial.load(Ordering::Relaxed)
    }

    /// True while the slot belongs to this thread.
    pub fn belongs_to(&self, tid: u32, serial: u32) -> bool {
        self.tid.load(Ordering::Acquire) == tid && self.serial() == serial
    }

    /// Returns the thread's JNIEnv, or null if it has none.
    #[inline]
    pub fn env(&self) -> *mut c_void {
        self.env.load(Ordering::Acquire)
    }

    /// Allows the handler to walk this thread's Java stack, until the JNIEnv is set to null.
    pub fn set_env(&self, env: *mut c_void) {
        self.env.store(env, Ordering::Release);
    }

    /// Returns the thread's context, or `None` if the thread has none yet.
    #[inline]
    pub fn thread_context(&self) -> Option<&ThreadContext> {
        // SAFETY: the pointer is null, or comes from the `'static` reference in
        // `set_thread_context`.
        unsafe { self.thread_context.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the memory in which the thread publishes its context, or removes it.
    pub fn set_thread_context(&self, thread_context: Option<&'static ThreadContext>) {
        let thread_context = thread_context
            .map_or(null_mut(), |thread_context| core::ptr::from_ref(thread_context).cast_mut());
        self.thread_context.store(thread_context, Ordering::Release);
    }

    /// True if this thread's signals take no samples.
    #[inline]
    pub fn excluded(&self) -> bool {
        self.excluded.load(Ordering::Acquire) != 0
    }

    /// Excludes the thread from sampling, or includes it. Before it is included, the slot must have
    /// everything that the engine's signals need.
    pub fn set_excluded(&self, excluded: bool) {
        self.excluded.store(u32::from(excluded), Ordering::Release);
    }

    /// Stores the weight for the signal that the thread sends to itself at its end.
    pub fn set_end_weight(&self, weight: u32) {
        self.end_weight.store(weight, Ordering::Relaxed);
    }

    /// Returns the weight for the sample at the thread's end and sets it to 0. The result is 0 if
    /// no weight was set.
    #[inline]
    pub fn take_end_weight(&self) -> u32 {
        if self.end_weight.load(Ordering::Relaxed) == 0 {
            0
        } else {
            self.end_weight.swap(0, Ordering::Relaxed)
        }
    }

    /// Records the descriptor of a perf event that begins, or -1 for none. The handler sets the
    /// regular period through it.
    pub fn set_beginning(&self, descriptor: i32, late: bool) {
        self.late.store(late.into(), Ordering::Relaxed);
        self.beginning.store(1, Ordering::Relaxed);
        self.descriptor.store(descriptor, Ordering::Release);
    }

    /// Removes the descriptor of the thread's perf event before the event is closed, so that the
    /// handler does not use it.
    pub fn end_event(&self) {
        self.descriptor.store(-1, Ordering::Relaxed);
        self.set_kernel_ring(0);
    }

    /// Sets the address of the ring that the thread's perf event writes, or 0 for none.
    pub fn set_kernel_ring(&self, address: usize) {
        self.kernel_frames.set_ring(address);
    }

    /// Returns the descriptor of the thread's perf event, or `None` without one.
    #[inline]
    pub fn event(&self) -> Option<i32> {
        Some(self.descriptor.load(Ordering::Acquire)).filter(|descriptor| *descriptor >= 0)
    }

    /// Returns the descriptor of the thread's perf event, if the event does not have its regular
    /// period yet.
    #[inline]
    pub fn beginning(&self) -> Option<i32> {
        self.event().filter(|_| self.beginning.load(Ordering::Relaxed) != 0)
    }

    /// Returns the period that begins with the signal at hand, once its intervals are counted. The
    /// regular period is one stride.
    pub fn next_period(&self, cpu: u64, interval: u64) -> u64 {
        if self.late.swap(0, Ordering::Relaxed) == 0 {
            self.beginning.store(0, Ordering::Relaxed);
            return interval.saturating_mul(self.pending.stride().into());
        }
        self.pending.period_after_late_signal(cpu, interval)
    }

    /// Starts to count the thread's intervals. This must happen before its engine is armed.
    pub fn begin(&self, base: u64, stride: u32) {
        self.pending.begin(base, stride);
        self.signals.store(0, Ordering::Relaxed);
    }

    /// True if the thread takes no samples now, because its CPU clock has not reached the end of
    /// its rest.
    #[inline]
    pub fn resting(&self, cpu: u64) -> bool {
        cpu < self.rest_until.load(Ordering::Relaxed)
    }

    /// Lets the thread rest: it takes no samples before its CPU clock reaches `until`.
    pub fn rest(&self, until: u64) {
        self.rest_until.store(until, Ordering::Relaxed);
    }

    /// Counts a signal, which covers the intervals of one stride.
    pub fn count_signal(&self) {
        self.signals.fetch_add(self.pending.stride(), Ordering::Relaxed);
    }

    /// Returns the intervals of signals that no sample covers yet.
    pub fn signals(&self) -> u32 {
        self.signals.load(Ordering::Relaxed)
    }

    /// Returns the intervals of signals that no sample covers yet, and sets them to 0.
    pub fn take_signals(&self) -> u32 {
        self.signals.swap(0, Ordering::Relaxed)
    }

    /// Records that the handler of a witnessed sample runs.
    pub fn begin_witnessed_handler(&self) {
        self.witnessed_handler_end.store(0, Ordering::Relaxed);
    }

    /// Records that the handler of a witnessed sample ends, at this time of the thread's CPU clock.
    pub fn end_witnessed_handler(&self, cpu: u64) {
        self.witnessed_handler_end.store(cpu, Ordering::Release);
    }

    /// Returns when the handler of the witnessed sample ended, by the thread's CPU clock, or 0 if
    /// it still runs.
    pub fn witnessed_handler_end(&self) -> u64 {
        self.witnessed_handler_end.load(Ordering::Acquire)
    }

    /// Records that the thread begins to wait.
    pub fn begin_wait(&self, Wait { since, kind, note }: Wait) {
        let [at, kinds, notes] = &self.waits;
        kinds.store(kind, Ordering::Relaxed);
        notes.store(note, Ordering::Relaxed);
        at.store(since, Ordering::Release);
    }

    /// Ends the thread's wait and returns it. The result is `None` if its beginning was not seen.
    pub fn end_wait(&self) -> Option<Wait> {
        let wait = self.wait();
        self.waits[0].store(0, Ordering::Release);
        wait
    }

    /// Returns the wait of the thread. Another thread that reads it must read twice: two equal
    /// results are a whole wait.
    pub fn wait(&self) -> Option<Wait> {
        let [since, kind, note] = self.waits.each_ref().map(|word| word.load(Ordering::Acquire));
        (since != 0).then_some(Wait { since, kind, note })
    }

    /// Returns the guard's slot of the thread, which has the stack pointer to unwind to during a
    /// walk.
    #[inline]
    pub fn walking(&self) -> &AtomicUsize {
        &self.walking
    }

    fn reset(&self, serial: u32) {
        self.serial.store(serial, Ordering::Relaxed);
        self.env.store(null_mut(), Ordering::Relaxed);
        self.thread_context.store(null_mut(), Ordering::Relaxed);
        self.excluded.store(1, Ordering::Relaxed);
        self.end_weight.store(0, Ordering::Relaxed);
        self.beginning.store(0, Ordering::Relaxed);
        self.end_event();
        self.late.store(0, Ordering::Relaxed);
        self.pending.begin(0, 1);
        self.rest_until.store(0, Ordering::Relaxed);
        self.walk_cost.reset();
        self.signals.store(0, Ordering::Relaxed);
        self.witnessed_handler_end.store(0, Ordering::Relaxed);
        self.waits[0].store(0, Ordering::Relaxed);
        self.walking.store(0, Ordering::Relaxed);
    }
}

/// The table in which the guard finds the slots of walking threads.
static GUARDED: AtomicPtr<Slots<'static>> = AtomicPtr::new(null_mut());

/// Makes the guard end faulting walks of the threads in this table.
pub fn guard_walks_of(slots: &'static Slots<'static>) {
    GUARDED.store(core::ptr::from_ref(slots).cast_mut(), Ordering::Release);
    // SAFETY: the function only searches the table, which a signal handler may do. A thread walks
    // with the guard's slot in its own entry.
    unsafe {
        guard::set_slot_finder(|tid| {
            let slots = GUARDED.load(Ordering::Acquire).as_ref();
            slots?.find(tid).map(Slot::walking)
        });
    }
}

/// Returns the guard's slot of the calling thread, or `None` if the thread has no entry.
pub fn own_walking() -> Option<&'static AtomicUsize> {
    // SAFETY: the pointer is null, or the `'static` table of `guard_walks_of`.
    let slots = unsafe { GUARDED.load(Ordering::Acquire).as_ref() };
    slots?.find(own_tid()).map(Slot::walking)
}

/// The table of all threads that handlers can sample, with a slot for each. `insert` and `remove`
/// must not run at the same time as another `insert` or `remove`.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'m> {
    slots: &'m [Slot],
}

impl<'m> Slots<'m> {
    /// Makes a table of threads over `slots`, which must all be free.
    #[must_use]
    pub fn new(slots: &'m [Slot]) -> Self {
        Self { slots }
    }

    /// Returns the indices where the slot of `tid` may be, nearest first.
    #[inline]
    fn indices(&self, tid: u32) -> impl Iterator<Item = usize> + use<> {
        let size = self.slots.len();
        // Fibonacci hashing spreads a sequence evenly.
        let group = (u64::from(tid / SEQUENTIAL_IDS).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        let hash = group.wrapping_mul(SEQUENTIAL_IDS as usize).wrapping_add((tid % SEQUENTIAL_IDS) as usize);
        (0..MAX_PROBES.min(size)).filter_map(move |step| hash.wrapping_add(step).checked_rem(size))
    }

    /// Returns the slot of thread `tid`, or `None` if the table has none.
    #[inline]
    pub fn find(&self, tid: u32) -> Option<&'m Slot> {
        for index in self.indices(tid) {
            let slot = self.slots.get(index)?;
            match slot.tid.load(Ordering::Acquire) {
                EMPTY => return None,
                key if key == tid => return Some(slot),
                _ => {}
            }
        }
        None
    }

    /// Inserts thread `tid` with a fresh slot. A slot of an earlier thread with this id is used
    /// again. The result is `None` if the table has no space.
    pub fn insert(&self, tid: u32, serial: u32) -> Option<&'m Slot> {
        let slot = self.find(tid).or_else(|| {
            self.indices(tid).filter_map(|index| self.slots.get(index)).find(|slot| {
                let key = slot.tid.load(Ordering::Relaxed);
                key == EMPTY || key == REMOVED
            })
        })?;
        slot.reset(serial);
        slot.tid.store(tid, Ordering::Release);
        Some(slot)
    }

    /// Removes the slot of thread `tid` from the table.
    pub fn remove(&self, tid: u32) {
        let Some(found) = self
            .indices(tid)
            .find(|index| self.slots.get(*index).is_some_and(|s| s.tid.load(Ordering::Relaxed) == tid))
        else {
            return;
        };
        let size = self.slots.len();
        let key = |index: usize| self.slots.get(index).map_or(EMPTY, |s| s.tid.load(Ordering::Relaxed));
        let set = |index: usize, key: u32| {
            if let Some(slot) = self.slots.get(index) {
                slot.tid.store(key, Ordering::Release);
            }
        };
        set(found, REMOVED);
        // No slot follows the last one of a run, so its removed slots need not continue a search.
        let mut index = found;
        while key((index + 1) % size) == EMPTY && key(index) == REMOVED {
            set(index, EMPTY);
            index = (index + size - 1) % size;
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
    fn a_free_slot_is_all_zero() {
        // SAFETY: the fields are numbers and pointers, which may all be zero.
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
        assert!(slot.belongs_to(7, 1) && !slot.belongs_to(7, 2) && !slot.belongs_to(8, 1));
        slots.remove(7);
        assert!(!slot.belongs_to(7, 1), "a thread that has given it back must not use it");
        assert_eq!(slots.insert(7, 2).unwrap().wait(), None, "whoever has the slot next waits for nothing");
    }

    #[test]
    fn every_live_thread_is_found_while_others_come_and_go() {
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
    fn sequential_threads_use_few_pages_of_the_table() {
        let slots = Slots::new(table(1 << 16));
        let page = |tid| core::ptr::from_ref(slots.insert(tid, tid).unwrap()) as usize / 4096;
        let pages: std::collections::HashSet<usize> = (5_000..6_024).map(page).collect();
        assert!(pages.len() <= 130, "{} pages for 1,024 threads", pages.len());
        assert!((5_000..6_024).all(|tid| slots.find(tid).is_some_and(|slot| slot.serial() == tid)));
    }

    #[test]
    fn a_table_holds_a_long_sequence_of_ids() {
        let slots = Slots::new(table(1 << 16));
        assert!((100..50_100).all(|tid| slots.insert(tid, tid).is_some()));
        assert!((100..50_100).all(|tid| slots.find(tid).is_some_and(|slot| slot.serial() == tid)));
    }

    #[test]
    fn an_emptied_table_has_few_removed_slots() {
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
    fn a_reused_id_gets_a_fresh_slot() {
        static THREAD_CONTEXT: ThreadContext = ThreadContext::empty();
        let slots = Slots::new(table(8));
        let old = slots.insert(7, 1).unwrap();
        old.set_env(8 as *mut c_void);
        old.set_thread_context(Some(&THREAD_CONTEXT));
        assert_eq!(old.thread_context().map(ThreadContext::read), Some((0, None)));
        old.set_end_weight(3);
        old.pending.count(5);
        let new = slots.insert(7, 2).unwrap();
        assert!(new.env().is_null() && new.thread_context().is_none());
        assert_eq!((new.serial(), new.take_end_weight(), new.pending.due(10, 1)), (2, 0, 10));
    }

    #[test]
    fn a_full_table_refuses_an_insert() {
        let slots = Slots::new(table(4));
        assert!((1..=4).all(|tid| slots.insert(tid, tid).is_some()));
        assert!(slots.insert(5, 5).is_none());
    }
}
