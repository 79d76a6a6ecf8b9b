//! A lane: a ring of words with one writer at a time and one reader. It carries samples from
//! handlers to the drain, or events from other code.
//!
//! Several threads may be interrupted at once, so there are several lanes. A handler claims a free
//! lane by a flag, which it tries once and never waits for. It is then the lane's only writer until
//! it drops the claim. The one reader is the drain.
//!
//! A claim reserves space for the longest sample, so that the walker writes its frames in place.
//! Nothing is copied, and no large array is on the interrupted thread's stack. An entry becomes
//! visible when it is published. A claim that is dropped unpublished leaves no trace.
//!
//! A sample is contiguous. If the longest one might not fit before the end of the ring, the rest of
//! the ring is skipped. When the reader has taken everything and no handler writes, it moves the
//! lane back to its beginning. So a lane that is drained in time uses only its first pages, and has
//! all of its space each time.
//!
//! This file must never wait. It must not depend on the meaning of the words, except that the first
//! word of an entry is its length.

use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};

/// The length word of an entry that only fills the ring up to its end.
const SKIP: u64 = u64::MAX;

/// One word of a lane's memory. All zero is a valid value.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Word(UnsafeCell<u64>);

// SAFETY: only the claim that reserved a word writes it. The reader reads the word after it was
// published and before `tail` has passed it. `head` and `tail` order the two by release and
// acquire, which loom checks.
unsafe impl Sync for Word {}

impl Word {
    #[inline]
    fn get(&self) -> u64 {
        // SAFETY: `Sync` above says why no thread writes the word now. This is a plain load of an
        // integer.
        self.0.with(|word| unsafe { *word })
    }

    #[inline]
    fn set(&self, value: u64) {
        // SAFETY: `Sync` above says why no other thread uses the word now. This is a plain store of
        // an integer.
        self.0.with_mut(|word| unsafe { *word = value });
    }
}

/// A ring of words with one writer at a time and one reader.
#[derive(Debug)]
pub struct Lane<'m> {
    words: &'m [Word],
    /// True while a handler has claimed the lane for writing. It is taken with acquire and released
    /// with release, so that a writer sees the `head` that the last writer stored.
    claimed: AtomicBool,
    /// The number of words published since the lane began. It grows forever; its remainder is the
    /// index in the ring.
    head: AtomicUsize,
    /// The number of words that the reader has taken since the lane began. `head - tail` words are
    /// in the ring.
    tail: AtomicUsize,
}

/// The right to write one entry into a lane. Dropping it frees the lane for other writers.
#[derive(Debug)]
pub struct Claim<'l, 'm> {
    lane: &'l Lane<'m>,
    /// The position of the entry's first word, counted like `head`.
    start: usize,
    room: &'m [Word],
}

impl<'m> Lane<'m> {
    /// Makes a lane over `words`, which should have space for at least two entries.
    #[must_use]
    pub fn new(words: &'m [Word]) -> Self {
        Self { words, claimed: AtomicBool::new(false), head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    /// Reserves space in the lane for an entry of up to `longest` words. The result is `None` if
    /// another handler is writing, or if the ring is too full.
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

    /// Returns how many words to skip before an entry of up to `longest` words that begins at
    /// `head`. Words are skipped if the entry might not fit before the ring's end. The result is
    /// `None` if there is no space.
    #[inline]
    fn skip(&self, head: usize, longest: usize) -> Option<usize> {
        let size = self.words.len();
        let used = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        let to_end = size - head.checked_rem(size)?;
        let skip = if to_end < longest { to_end } else { 0 };
        (size.saturating_sub(used) >= skip.saturating_add(longest)).then_some(skip)
    }

    /// Finds contiguous space for an entry. The caller must be the lane's one writer.
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

    /// Passes every published entry of the lane, whole and in order, to `take`. Only the one reader
    /// may call this.
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
        self.rewind(tail);
    }

    /// Moves an empty lane back to the beginning of its ring. Meanwhile the reader is the lane's
    /// one writer, so that handlers take other lanes.
    fn rewind(&self, tail: usize) {
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

    /// Returns how many words of the lane wait for the reader at this moment.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.head.load(Ordering::Relaxed).wrapping_sub(self.tail.load(Ordering::Relaxed))
    }

    /// Returns how many words the lane's ring has.
    #[inline]
    pub fn size(&self) -> usize {
        self.words.len()
    }
}

/// Claims space in one of several lanes. `choice` selects the first lane to try, so that threads
/// spread over the lanes.
pub fn claim_any<'l, 'm>(lanes: &'l [Lane<'m>], choice: usize, longest: usize) -> Option<Claim<'l, 'm>> {
    let first = choice.checked_rem(lanes.len())?;
    let (before, from) = lanes.split_at_checked(first)?;
    from.iter().chain(before).find_map(|lane| lane.claim(longest))
}

impl Claim<'_, '_> {
    /// True if the lane is more than a quarter full. The other three quarters must have space for
    /// some more long entries until the reader comes.
    #[inline]
    pub fn is_filling_up(&self) -> bool {
        self.lane.waiting() > self.lane.size() / 4
    }

    /// Writes one word of the claimed entry. Word 0 is the entry's length, which `publish` writes.
    #[inline]
    pub fn set(&self, index: usize, value: u64) {
        if let Some(word) = self.room.get(index) {
            word.set(value);
        }
    }

    /// Returns the address of the entry's word at `index`, for a walker that writes frames itself.
    #[cfg(not(loom))]
    #[inline]
    pub fn pointer(&self, index: usize) -> *mut u64 {
        match self.room.get(index) {
            Some(word) => word.0.with_mut(|pointer| pointer),
            None => core::ptr::null_mut(),
        }
    }

    /// Publishes the first `length` words of the claim, including the length itself, as one entry.
    /// The reader can see it from then on.
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

/// A published entry, as its reader sees it.
#[derive(Debug)]
pub struct Entry<'l> {
    words: &'l [Word],
}

impl Entry<'_> {
    /// Returns the word of the entry at `index`, if the entry is that long.
    #[inline]
    pub fn word(&self, index: usize) -> Option<u64> {
        self.words.get(index).map(Word::get)
    }

    /// Returns the number of words of the entry, including the length itself.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns true for an entry without words. An entry has at least its length word, so this is
    /// always false.
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
    fn a_drained_lane_starts_again_with_all_of_its_space() {
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
        // An entry that is being written keeps the lane where it is.
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
