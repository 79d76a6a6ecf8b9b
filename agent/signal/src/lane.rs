//! A lane: a ring of words that carries samples from a handler to the drain, or events from
//! wherever they happen, single producer, single consumer.
//!
//! Several threads may be interrupted at once, so there are several lanes; a handler claims one
//! that is free (a flag, tried once, never waited for), and is its only writer until it lets go.
//! The one reader is the drain. A claim reserves room for the longest sample at once, so that the
//! walker writes its frames in place: nothing is copied, and no big array ever lies on the
//! interrupted thread's stack. What was written becomes visible when it is published; a claim that
//! is dropped unpublished leaves no trace.
//!
//! A sample is contiguous. Where the longest one might not fit before the end of the ring, the rest
//! of the ring is skipped. When the reader has taken everything, and nobody is writing, it takes
//! the lane back to its beginning: one that is drained in time uses only its first pages, again and
//! again, and has all of its room each time.
//!
//! This file must never wait, and must know nothing of what the words mean, except that the first
//! word of an entry is its length.

use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};

/// The length word of an entry that fills the ring up to its end and carries nothing.
const SKIP: u64 = u64::MAX;

/// One word of a lane's memory. All zero is a valid value.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Word(UnsafeCell<u64>);

// SAFETY: a word is written only by the claim that reserved it and read only once it has been
// published and before the reader has passed it; `head` and `tail` (release, acquire) order the
// two. Loom checks it.
unsafe impl Sync for Word {}

impl Word {
    #[inline]
    fn get(&self) -> u64 {
        // SAFETY: see `Sync` above; a plain load of an integer.
        self.0.with(|word| unsafe { *word })
    }

    #[inline]
    fn set(&self, value: u64) {
        // SAFETY: see `Sync` above; a plain store of an integer.
        self.0.with_mut(|word| unsafe { *word = value });
    }
}

/// A ring of words with one writer at a time and one reader.
#[derive(Debug)]
pub struct Lane<'m> {
    words: &'m [Word],
    /// True while a handler owns the writing side. Taken with acquire and given back with release,
    /// so that one writer sees the `head` that the last one left.
    claimed: AtomicBool,
    /// Words published since the lane began; grows for ever, its remainder is the place in the
    /// ring.
    head: AtomicUsize,
    /// Words taken by the reader since the lane began. `head - tail` words are in the ring.
    tail: AtomicUsize,
}

/// The right to write one entry into a lane.
#[derive(Debug)]
pub struct Claim<'l, 'm> {
    lane: &'l Lane<'m>,
    /// Where the entry begins, counted as `head` is.
    start: usize,
    room: &'m [Word],
}

impl<'m> Lane<'m> {
    /// A lane over `words`, which must be at least two entries long to be of use.
    #[must_use]
    pub fn new(words: &'m [Word]) -> Self {
        Self { words, claimed: AtomicBool::new(false), head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    /// Reserves room for an entry of up to `longest` words; `None` if another handler is writing or
    /// the reader is too far behind.
    #[inline]
    pub fn claim(&self, longest: usize) -> Option<Claim<'_, 'm>> {
        if self.claimed.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        let claim = self.reserve(longest);
        if claim.is_none() {
            self.claimed.store(false, Ordering::Release);
        }
        claim
    }

    /// How much of the ring's end is to be skipped for an entry of up to `longest` words, which
    /// begins at `head`; `None` if there is no room.
    #[inline]
    fn skip(&self, head: usize, longest: usize) -> Option<usize> {
        let size = self.words.len();
        let used = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        let to_end = size - head.checked_rem(size)?;
        let skip = if to_end < longest { to_end } else { 0 };
        (size.saturating_sub(used) >= skip.saturating_add(longest)).then_some(skip)
    }

    /// The writer's side of `claim`: finds a contiguous place.
    #[inline]
    fn reserve(&self, longest: usize) -> Option<Claim<'_, 'm>> {
        let size = self.words.len();
        let head = self.head.load(Ordering::Relaxed);
        let skip = self.skip(head, longest)?;
        let at = head.checked_rem(size)?;
        if skip != 0 {
            self.words.get(at)?.set(SKIP);
        }
        let start = head.wrapping_add(skip);
        let begin = start.checked_rem(size)?;
        let room = self.words.get(begin..begin + longest)?;
        Some(Claim { lane: self, start, room })
    }

    /// Hands every published entry, whole and in order, to `take`. Only the one reader may call
    /// this.
    pub fn drain(&self, mut take: impl FnMut(&Entry<'_>)) {
        let head = self.head.load(Ordering::Acquire);
        let mut tail = self.tail.load(Ordering::Relaxed);
        while tail != head {
            let at = tail % self.words.len();
            let length = self.words[at].get();
            if length == SKIP {
                tail = tail.wrapping_add(self.words.len() - at);
            } else {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                take(&Entry { words: &self.words[at..at + length] });
                tail = tail.wrapping_add(length);
            }
            self.tail.store(tail, Ordering::Release);
        }
        self.restart(tail);
    }

    /// Takes an empty lane back to the beginning of its ring, as its one writer for that moment;
    /// who wants to write meanwhile takes another lane.
    fn restart(&self, tail: usize) {
        let size = self.words.len();
        let over = tail.checked_rem(size).unwrap_or(0);
        if over == 0
            || self.claimed.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return;
        }
        if self.head.load(Ordering::Relaxed) == tail {
            let start = tail.wrapping_add(size - over);
            self.head.store(start, Ordering::Relaxed);
            self.tail.store(start, Ordering::Relaxed);
        }
        self.claimed.store(false, Ordering::Release);
    }

    /// Words that wait for the reader, at this moment.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.head.load(Ordering::Relaxed).wrapping_sub(self.tail.load(Ordering::Relaxed))
    }

    /// How many words the ring holds.
    #[inline]
    pub fn size(&self) -> usize {
        self.words.len()
    }
}

/// Room in one of several lanes: in that which is chosen first, so that threads spread, or else in
/// any other.
pub fn claim_any<'l, 'm>(lanes: &'l [Lane<'m>], choice: usize, longest: usize) -> Option<Claim<'l, 'm>> {
    let first = choice.checked_rem(lanes.len())?;
    let (before, from) = lanes.split_at_checked(first)?;
    from.iter().chain(before).find_map(|lane| lane.claim(longest))
}

impl Claim<'_, '_> {
    /// True if the lane is more than a quarter full: there must be room for some more of the
    /// longest until the reader has come.
    #[inline]
    pub fn presses(&self) -> bool {
        self.lane.waiting() > self.lane.size() / 4
    }

    /// Writes one word of the entry; word 0 is its length and is written by `publish`.
    #[inline]
    pub fn set(&self, index: usize, value: u64) {
        if let Some(word) = self.room.get(index) {
            word.set(value);
        }
    }

    /// Where the entry's words from `index` on lie, for a walker that fills them itself.
    #[cfg(not(loom))]
    #[inline]
    pub fn pointer(&self, index: usize) -> *mut u64 {
        match self.room.get(index) {
            Some(word) => word.0.with_mut(|pointer| pointer),
            None => core::ptr::null_mut(),
        }
    }

    /// Makes the first `length` words (itself included) visible to the reader as one entry.
    #[inline]
    pub fn publish(self, length: usize) {
        let length = length.min(self.room.len()).max(1);
        self.set(0, length as u64);
        self.lane.head.store(self.start.wrapping_add(length), Ordering::Release);
    }
}

impl Drop for Claim<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        self.lane.claimed.store(false, Ordering::Release);
    }
}

/// One published entry, as its reader sees it.
#[derive(Debug)]
pub struct Entry<'l> {
    words: &'l [Word],
}

impl Entry<'_> {
    /// The word at `index`, if the entry is that long.
    #[inline]
    pub fn word(&self, index: usize) -> Option<u64> {
        self.words.get(index).map(Word::get)
    }

    /// How many words there are, the length itself included.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Never: an entry has its length word at least.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_lane_that_is_drained_begins_anew_with_all_of_its_room() {
        let words: Vec<Word> = (0..100).map(|_| Word::default()).collect();
        let lane = Lane::new(&words);
        for round in 0..20 {
            let published =
                (0..8).filter(|_| lane.claim(30).map(|claim| claim.publish(10)).is_some()).count();
            assert_eq!(published, 8, "of what fits, in round {round}");
            let mut drained = 0;
            lane.drain(|_| drained += 1);
            assert_eq!(drained, 8);
        }
        // What is being written stays where it is.
        lane.claim(30).unwrap().publish(10);
        let claim = lane.claim(30).unwrap();
        lane.drain(|_| {});
        claim.set(1, 7);
        claim.publish(10);
        let mut seen = Vec::new();
        lane.drain(|entry| seen.push(entry.word(1)));
        assert_eq!(seen, [Some(7)]);
    }
}
