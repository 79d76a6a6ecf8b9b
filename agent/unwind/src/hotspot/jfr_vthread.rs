//! Reads the id of the virtual thread that a carrier runs, as JFR keeps it in each thread:
//! `JfrThreadLocal::_vthread_id`, valid while `_vthread` is set.
//!
//! The JVM writes both fields at each mount and unmount, even without a JFR recording. They are not
//! in the heap, so a collector that moves objects cannot invalidate them. No exported table has the
//! two offsets. Handlers find them: where the id can be read from the heap as well, they compare.
//! An id must never be reported before both offsets are certain.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::mounted_vthread::CurrentThread;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// The number of words of a HotSpot `Thread` that are searched for the virtual thread's id.
const WORDS: usize = 256;
/// The maximal distance of the flag `_vthread` from the id, either way, in bytes.
const NEAR: usize = 128;
/// The number of observations of threads with a virtual thread after which an offset is certain.
const OBSERVATIONS: u32 = 3;
/// The number of contradictions that invalidate the offsets for good, if they are also one in
/// [`RARE`] observations.
const CONTRADICTIONS: u32 = 8;
const RARE: u32 = 16;
/// The value of an offset that the heap contradicted.
const INVALID: usize = usize::MAX;

/// The search for the offsets of JFR's two fields, and its result. All handlers share it: each step
/// is an atomic AND, so that two at once do no harm.
#[derive(Debug, Default)]
pub struct JfrVthread {
    /// The words of a HotSpot `Thread` that had the virtual thread's id in all observations so far.
    words: Bits<{ WORDS / 64 }>,
    /// The bytes near the id that were 1 whenever a virtual thread ran, and 0 whenever the carrier
    /// ran as itself.
    flags: Bits<{ 2 * NEAR / 64 }>,
    /// The number of observations of virtual threads since the search last began.
    observed: AtomicU32,
    /// The number of observations of carriers that ran as themselves.
    itself: AtomicU32,
    last_id: AtomicU64,
    /// True after two different thread ids were observed. With a single id, words may be equal to
    /// it by chance.
    differed: AtomicBool,
    /// The offset of `_vthread_id` in a HotSpot `Thread`; 0 until it is certain.
    id: AtomicUsize,
    /// The offset of the flag `_vthread` in a HotSpot `Thread`; 0 until it is certain.
    flag: AtomicUsize,
    agreed: AtomicU32,
    contradicted: AtomicU32,
}

impl JfrVthread {
    /// Compares this thread's memory with the virtual thread that the heap's objects name, and
    /// drops the offsets that do not fit. `end` is the size of a `Thread` without the fields of
    /// JavaThread.
    pub fn observe(&self, memory: &impl Memory, thread: usize, end: usize, current: CurrentThread) {
        let flag = self.flag.load(Relaxed);
        if flag == INVALID {
            return;
        }
        if flag != 0 && self.id.load(Relaxed) != 0 {
            self.check(memory, thread, current);
            return;
        }
        match (self.id.load(Relaxed), current) {
            (0, CurrentThread::Virtual(id)) => self.narrow_words(memory, thread, end, id),
            (0, _) | (_, CurrentThread::Unknown) => {}
            (at, CurrentThread::Virtual(id)) => {
                if has_id(memory, thread.wrapping_add(at), id) {
                    self.narrow_flags(memory, thread, at, 1);
                } else {
                    self.restart();
                }
            }
            // A thread that never was a carrier has no id, and its flag proves little.
            (at, CurrentThread::Itself) if memory.word(thread.wrapping_add(at)) != Some(0) => {
                self.narrow_flags(memory, thread, at, 0);
            }
            (_, CurrentThread::Itself) => {}
        }
    }

    /// Reads from JFR's fields which Java thread a JavaThread runs. The result is `Unknown` until
    /// both offsets are certain.
    pub fn current_thread(&self, memory: &impl Memory, thread: usize) -> CurrentThread {
        let (id, flag) = (self.id.load(Relaxed), self.flag.load(Relaxed));
        if id == 0 || flag == 0 || flag == INVALID {
            return CurrentThread::Unknown;
        }
        match (memory.byte(thread.wrapping_add(flag)), memory.word(thread.wrapping_add(id))) {
            (Some(0), _) => CurrentThread::Itself,
            (Some(1), Some(id)) if id != 0 => CurrentThread::Virtual(id as u64),
            _ => CurrentThread::Unknown,
        }
    }

    fn narrow_words(&self, memory: &impl Memory, thread: usize, end: usize, id: u64) {
        let has = |word: usize| {
            let at = word.wrapping_mul(WORD);
            at < end && has_id(memory, thread.wrapping_add(at), id)
        };
        let remaining = self.words.keep(has);
        let observed = self.observed.fetch_add(1, Relaxed).wrapping_add(1);
        let last = self.last_id.swap(id, Relaxed);
        if last != 0 && last != id {
            self.differed.store(true, Relaxed);
        }
        match remaining {
            Remaining::None => self.restart(),
            Remaining::One(word) if observed >= OBSERVATIONS && self.differed.load(Relaxed) => {
                self.observed.store(0, Relaxed);
                self.id.store(word.wrapping_mul(WORD), Relaxed);
            }
            Remaining::One(_) | Remaining::Several => {}
        }
    }

    fn narrow_flags(&self, memory: &impl Memory, thread: usize, id: usize, wanted: u8) {
        let begin = id.saturating_sub(NEAR);
        let has = |byte: usize| memory.byte(thread.wrapping_add(begin).wrapping_add(byte)) == Some(wanted);
        let remaining = self.flags.keep(has);
        let counter = if wanted == 1 { &self.observed } else { &self.itself };
        counter.fetch_add(1, Relaxed);
        match remaining {
            Remaining::None => self.restart(),
            Remaining::One(byte)
                if self.observed.load(Relaxed) >= OBSERVATIONS && self.itself.load(Relaxed) > 0 =>
            {
                self.flag.store(begin.wrapping_add(byte), Relaxed);
            }
            Remaining::One(_) | Remaining::Several => {}
        }
    }

    /// Restarts the search for the offsets. An observation between the JVM's two writes has
    /// excluded the right offset.
    fn restart(&self) {
        self.words.clear();
        self.flags.clear();
        self.observed.store(0, Relaxed);
        self.itself.store(0, Relaxed);
        self.id.store(0, Relaxed);
    }

    fn check(&self, memory: &impl Memory, thread: usize, current: CurrentThread) {
        if current == CurrentThread::Unknown || self.current_thread(memory, thread) == current {
            self.agreed.fetch_add(1, Relaxed);
            return;
        }
        let contradicted = self.contradicted.fetch_add(1, Relaxed).wrapping_add(1);
        if contradicted >= CONTRADICTIONS && contradicted >= self.agreed.load(Relaxed) / RARE {
            self.flag.store(INVALID, Relaxed);
        }
    }
}

fn has_id(memory: &impl Memory, at: usize, id: u64) -> bool {
    memory.word(at).is_some_and(|word| word as u64 == id)
}

/// How many candidates of a search remain: none, one or several.
enum Remaining {
    None,
    One(usize),
    Several,
}

/// A set of numbers, which contains all numbers at first. A bit is set for each excluded number.
#[derive(Debug)]
struct Bits<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Bits<N> {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; N])
    }
}

impl<const N: usize> Bits<N> {
    /// Excludes from the set all numbers for which `has` is false.
    fn keep(&self, has: impl Fn(usize) -> bool) -> Remaining {
        let mut remaining = Remaining::None;
        for (row, bits) in self.0.iter().enumerate() {
            let before = bits.load(Relaxed);
            let mut out = 0_u64;
            for bit in 0..64_u32 {
                let number = row.wrapping_mul(64).wrapping_add(bit as usize);
                let mask = 1_u64.wrapping_shl(bit);
                if before & mask != 0 {
                    continue;
                }
                if has(number) {
                    remaining = if matches!(remaining, Remaining::None) {
                        Remaining::One(number)
                    } else {
                        Remaining::Several
                    };
                } else {
                    out |= mask;
                }
            }
            bits.fetch_or(out, Relaxed);
        }
        remaining
    }

    fn clear(&self) {
        for bits in &self.0 {
            bits.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    const THREAD: usize = 0x1000;
    const END: usize = 64 * WORD;
    /// The offsets of JFR's two fields in the JVM of these tests.
    const ID: usize = 20 * WORD;
    const FLAG: usize = 22 * WORD + 3;

    /// Returns the words of a HotSpot `Thread` that runs or ran the virtual thread `id`.
    fn thread(id: usize, mounted: bool) -> Vec<usize> {
        let mut words = std::vec![0; 64];
        words[20] = id;
        // The next words have bytes that are always 1, and the flag.
        words[21] = 0x0101;
        words[22] = 1 | usize::from(mounted) << 24;
        words
    }

    fn observe(jfr: &JfrVthread, words: &[usize], current: CurrentThread) -> CurrentThread {
        let memory = |at: usize| words.get(at.checked_sub(THREAD)? / WORD).copied();
        jfr.observe(&memory, THREAD, END, current);
        jfr.current_thread(&memory, THREAD)
    }

    #[test]
    fn the_fields_are_found_by_comparison_with_the_heap_and_then_replace_it() {
        let jfr = JfrVthread::default();
        for id in [30, 31, 32] {
            assert_eq!(
                observe(&jfr, &thread(id, true), CurrentThread::Virtual(id as u64)),
                CurrentThread::Unknown
            );
        }
        for id in [33, 34, 35] {
            assert_eq!(
                observe(&jfr, &thread(id, true), CurrentThread::Virtual(id as u64)),
                CurrentThread::Unknown
            );
        }
        assert_eq!(
            observe(&jfr, &thread(0, false), CurrentThread::Itself),
            CurrentThread::Unknown,
            "the thread never was a carrier"
        );
        assert_eq!(observe(&jfr, &thread(35, false), CurrentThread::Itself), CurrentThread::Itself);
        assert_eq!((jfr.id.load(Relaxed), jfr.flag.load(Relaxed)), (ID, FLAG));
        assert_eq!(observe(&jfr, &thread(36, true), CurrentThread::Unknown), CurrentThread::Virtual(36));
        assert_eq!(observe(&jfr, &thread(36, false), CurrentThread::Unknown), CurrentThread::Itself);
    }

    #[test]
    fn observations_of_a_single_id_do_not_decide() {
        let jfr = JfrVthread::default();
        for _ in 0..20 {
            observe(&jfr, &thread(30, true), CurrentThread::Virtual(30));
            assert_eq!(observe(&jfr, &thread(30, false), CurrentThread::Itself), CurrentThread::Unknown);
        }
    }

    #[test]
    fn an_observation_between_the_two_writes_only_delays_the_search() {
        let jfr = JfrVthread::default();
        for id in 30..36 {
            observe(&jfr, &thread(id, true), CurrentThread::Virtual(id as u64));
        }
        observe(&jfr, &thread(36, false), CurrentThread::Virtual(36));
        observe(&jfr, &thread(36, true), CurrentThread::Virtual(37));
        for id in 40..46 {
            observe(&jfr, &thread(id, true), CurrentThread::Virtual(id as u64));
        }
        assert_eq!(observe(&jfr, &thread(46, false), CurrentThread::Itself), CurrentThread::Itself);
        assert_eq!(jfr.flag.load(Relaxed), FLAG);
    }

    #[test]
    fn fields_that_often_contradict_the_heap_are_disabled() {
        let jfr = JfrVthread::default();
        for id in 30..36 {
            observe(&jfr, &thread(id, true), CurrentThread::Virtual(id as u64));
        }
        assert_eq!(observe(&jfr, &thread(36, false), CurrentThread::Itself), CurrentThread::Itself);
        for _ in 0..CONTRADICTIONS {
            observe(&jfr, &thread(36, true), CurrentThread::Virtual(37));
        }
        assert_eq!(observe(&jfr, &thread(38, true), CurrentThread::Unknown), CurrentThread::Unknown);
    }
}
