//! The id of the virtual thread that a carrier runs, as JFR keeps it in each thread:
//! `JfrThreadLocal::_vthread_id`, valid while `_vthread` is set.
//!
//! The JVM writes both at each mount and unmount, recording or not. Reading them needs no object of
//! the heap, so a collector that moves objects cannot invalidate them. No exported table has the
//! two offsets. Handlers find them by comparison with what the heap says in samples in which that
//! can be read; an id must never be reported before both offsets are certain.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::mounted_vthread::Whom;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// How many words of a Thread are searched for the id.
const WORDS: usize = 256;
/// How far from the id the flag may be, either way, in bytes.
const NEAR: usize = 128;
/// An offset is certain after this many observations in which the thread ran a virtual thread.
const OBSERVATIONS: u32 = 3;
/// This many contradictions, and one in [`RARE`] observations, invalidate the offsets for good.
const CONTRADICTIONS: u32 = 8;
const RARE: u32 = 16;
/// In the place of an offset that the heap contradicted.
const INVALID: usize = usize::MAX;

/// The search for the two offsets, and its result. All handlers share it: each step is an atomic
/// AND, so that two at once do no harm.
#[derive(Debug, Default)]
pub struct JfrVthread {
    /// Words of a Thread that have had the virtual thread's id in all observations so far.
    words: Bits<{ WORDS / 64 }>,
    /// Bytes near the id that were 1 whenever a virtual thread ran, and 0 whenever the carrier ran
    /// as itself.
    flags: Bits<{ 2 * NEAR / 64 }>,
    /// Observations of virtual threads with the present candidates.
    observed: AtomicU32,
    /// Observations of carriers that ran as themselves.
    itself: AtomicU32,
    last_id: AtomicU64,
    /// Two different ids were observed.
    differed: AtomicBool,
    /// Offset of the id in a Thread; 0 until it is certain.
    id: AtomicUsize,
    /// Offset of the flag; 0 until it is certain.
    flag: AtomicUsize,
    agreed: AtomicU32,
    contradicted: AtomicU32,
}

impl JfrVthread {
    /// Takes in what the heap says of this thread at this moment. `end` is how long a Thread is,
    /// without what a JavaThread adds.
    pub fn observe(&self, memory: &impl Memory, thread: usize, end: usize, whom: Whom) {
        let flag = self.flag.load(Relaxed);
        if flag == INVALID {
            return;
        }
        if flag != 0 && self.id.load(Relaxed) != 0 {
            self.check(memory, thread, whom);
            return;
        }
        match (self.id.load(Relaxed), whom) {
            (0, Whom::Virtual(id)) => self.narrow_words(memory, thread, end, id),
            (0, _) | (_, Whom::Unknown) => {}
            (at, Whom::Virtual(id)) => {
                if has_id(memory, thread.wrapping_add(at), id) {
                    self.narrow_flags(memory, thread, at, 1);
                } else {
                    self.begin_again();
                }
            }
            // A thread that never was a carrier has no id there, and its flag says little.
            (at, Whom::Itself) if memory.word(thread.wrapping_add(at)) != Some(0) => {
                self.narrow_flags(memory, thread, at, 0);
            }
            (_, Whom::Itself) => {}
        }
    }

    /// Whom the thread runs as by JFR's fields; `Unknown` until they are found.
    pub fn whom(&self, memory: &impl Memory, thread: usize) -> Whom {
        let (id, flag) = (self.id.load(Relaxed), self.flag.load(Relaxed));
        if id == 0 || flag == 0 || flag == INVALID {
            return Whom::Unknown;
        }
        match (memory.byte(thread.wrapping_add(flag)), memory.word(thread.wrapping_add(id))) {
            (Some(0), _) => Whom::Itself,
            (Some(1), Some(id)) if id != 0 => Whom::Virtual(id as u64),
            _ => Whom::Unknown,
        }
    }

    fn narrow_words(&self, memory: &impl Memory, thread: usize, end: usize, id: u64) {
        let has = |word: usize| {
            let at = word.wrapping_mul(WORD);
            at < end && has_id(memory, thread.wrapping_add(at), id)
        };
        let left = self.words.keep(has);
        let observed = self.observed.fetch_add(1, Relaxed).wrapping_add(1);
        let last = self.last_id.swap(id, Relaxed);
        if last != 0 && last != id {
            self.differed.store(true, Relaxed);
        }
        match left {
            Left::None => self.begin_again(),
            Left::One(word) if observed >= OBSERVATIONS && self.differed.load(Relaxed) => {
                self.observed.store(0, Relaxed);
                self.id.store(word.wrapping_mul(WORD), Relaxed);
            }
            Left::One(_) | Left::Several => {}
        }
    }

    fn narrow_flags(&self, memory: &impl Memory, thread: usize, id: usize, wanted: u8) {
        let begin = id.saturating_sub(NEAR);
        let has = |byte: usize| memory.byte(thread.wrapping_add(begin).wrapping_add(byte)) == Some(wanted);
        let left = self.flags.keep(has);
        let counter = if wanted == 1 { &self.observed } else { &self.itself };
        counter.fetch_add(1, Relaxed);
        match left {
            Left::None => self.begin_again(),
            Left::One(byte)
                if self.observed.load(Relaxed) >= OBSERVATIONS && self.itself.load(Relaxed) > 0 =>
            {
                self.flag.store(begin.wrapping_add(byte), Relaxed);
            }
            Left::One(_) | Left::Several => {}
        }
    }

    /// One observation between the JVM's two writes excludes the right place: the search starts
    /// anew.
    fn begin_again(&self) {
        self.words.clear();
        self.flags.clear();
        self.observed.store(0, Relaxed);
        self.itself.store(0, Relaxed);
        self.id.store(0, Relaxed);
    }

    fn check(&self, memory: &impl Memory, thread: usize, whom: Whom) {
        if whom == Whom::Unknown || self.whom(memory, thread) == whom {
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

/// What a search has left.
enum Left {
    None,
    One(usize),
    Several,
}

/// A set of numbers from which some are taken out, all in it at first: a bit is set for what is
/// out.
#[derive(Debug)]
struct Bits<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Bits<N> {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; N])
    }
}

impl<const N: usize> Bits<N> {
    /// Takes out what does not have it.
    fn keep(&self, has: impl Fn(usize) -> bool) -> Left {
        let mut left = Left::None;
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
                    left = if matches!(left, Left::None) { Left::One(number) } else { Left::Several };
                } else {
                    out |= mask;
                }
            }
            bits.fetch_or(out, Relaxed);
        }
        left
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
    /// Where the JVM of these tests has them, in bytes.
    const ID: usize = 20 * WORD;
    const FLAG: usize = 22 * WORD + 3;

    /// A thread that runs, or ran, the virtual thread `id`.
    fn thread(id: usize, mounted: bool) -> Vec<usize> {
        let mut words = std::vec![0; 64];
        words[20] = id;
        // Further along is another word with the id, which goes when the virtual thread does, and
        // bytes that are always 1.
        words[21] = 0x0101;
        words[22] = 1 | usize::from(mounted) << 24;
        words
    }

    fn observe(jfr: &JfrVthread, words: &[usize], whom: Whom) -> Whom {
        let memory = |at: usize| words.get(at.checked_sub(THREAD)? / WORD).copied();
        jfr.observe(&memory, THREAD, END, whom);
        jfr.whom(&memory, THREAD)
    }

    #[test]
    fn the_fields_are_found_by_what_the_heap_says_and_then_stand_for_it() {
        let jfr = JfrVthread::default();
        for id in [30, 31, 32] {
            assert_eq!(observe(&jfr, &thread(id, true), Whom::Virtual(id as u64)), Whom::Unknown);
        }
        for id in [33, 34, 35] {
            assert_eq!(observe(&jfr, &thread(id, true), Whom::Virtual(id as u64)), Whom::Unknown);
        }
        assert_eq!(observe(&jfr, &thread(0, false), Whom::Itself), Whom::Unknown, "it never was a carrier");
        assert_eq!(observe(&jfr, &thread(35, false), Whom::Itself), Whom::Itself);
        assert_eq!((jfr.id.load(Relaxed), jfr.flag.load(Relaxed)), (ID, FLAG));
        assert_eq!(observe(&jfr, &thread(36, true), Whom::Unknown), Whom::Virtual(36));
        assert_eq!(observe(&jfr, &thread(36, false), Whom::Unknown), Whom::Itself);
    }

    #[test]
    fn one_id_alone_decides_nothing() {
        let jfr = JfrVthread::default();
        for _ in 0..20 {
            observe(&jfr, &thread(30, true), Whom::Virtual(30));
            assert_eq!(observe(&jfr, &thread(30, false), Whom::Itself), Whom::Unknown);
        }
    }

    #[test]
    fn a_look_between_the_two_writes_only_delays_the_search() {
        let jfr = JfrVthread::default();
        for id in 30..36 {
            observe(&jfr, &thread(id, true), Whom::Virtual(id as u64));
        }
        observe(&jfr, &thread(36, false), Whom::Virtual(36));
        observe(&jfr, &thread(36, true), Whom::Virtual(37));
        for id in 40..46 {
            observe(&jfr, &thread(id, true), Whom::Virtual(id as u64));
        }
        assert_eq!(observe(&jfr, &thread(46, false), Whom::Itself), Whom::Itself);
        assert_eq!(jfr.flag.load(Relaxed), FLAG);
    }

    #[test]
    fn fields_that_often_contradict_the_heap_are_used_no_more() {
        let jfr = JfrVthread::default();
        for id in 30..36 {
            observe(&jfr, &thread(id, true), Whom::Virtual(id as u64));
        }
        assert_eq!(observe(&jfr, &thread(36, false), Whom::Itself), Whom::Itself);
        for _ in 0..CONTRADICTIONS {
            observe(&jfr, &thread(36, true), Whom::Virtual(37));
        }
        assert_eq!(observe(&jfr, &thread(38, true), Whom::Unknown), Whom::Unknown);
    }
}
