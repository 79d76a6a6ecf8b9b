//! Java threads that have not ended, and what the JVM has of each: for whoever has to know whose a
//! lock is.
//!
//! A thread that came itself is taken out by itself, at its end, and waits for whoever is asking:
//! until then its JavaThread is there. Of one that was found nobody can be sure that it tells of
//! its end, so its memory is read by the kernel, which gives no fault.

use std::collections::{HashMap, VecDeque};

use once_cell::sync::Lazy;
use parking_lot::Mutex;

use crate::hotspot::vmstructs;

/// So many of those that have ended are known for a while: the JVM takes a lock for a thread after
/// it has told of its end.
const ENDED: usize = 256;

/// Those of the process.
pub static CERTAIN: Lazy<Certain> = Lazy::new(Certain::default);

/// All of them.
#[derive(Debug, Default)]
pub struct Certain(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the kernel's id: the word that a monitor has of its owner.
    words: HashMap<u32, u64>,
    /// The same, by the JVM's side of them.
    places: HashMap<usize, u64>,
    /// By that word.
    threads: HashMap<u64, Known>,
    /// Words and serials.
    ended: VecDeque<(u64, u32)>,
    /// Everybody is known but for virtual threads.
    whole: bool,
}

#[derive(Debug)]
struct Known {
    serial: u32,
    side: Side,
}

/// The JVM's side of a thread.
#[derive(Debug)]
pub struct Side {
    java_thread: usize,
    found: bool,
}

impl Side {
    /// A word of its JavaThread; `None` if it is gone.
    pub fn word(&self, offset: usize) -> Option<usize> {
        let place = self.java_thread + offset;
        if self.found {
            return vmstructs::read(place);
        }
        // SAFETY: an aligned word of a JavaThread that is there as long as this is asked; other
        // threads write whole words.
        Some(unsafe { (place as *const usize).read_volatile() })
    }

    /// The first half of a word.
    pub fn half(&self, offset: usize) -> Option<u32> {
        u32::try_from(self.word(offset)? & 0xffff_ffff).ok()
    }
}

impl Certain {
    /// A thread is there: the calling one, or one that was found, which may have ended meanwhile.
    pub fn enter(&self, (tid, serial): (u32, u32), java_thread: usize, word: u64, found: bool) {
        let mut inner = self.0.lock();
        // Whoever had its id or its place is gone.
        inner.forget(tid);
        if let Some(before) = inner.places.remove(&java_thread) {
            inner.threads.remove(&before);
        }
        inner.words.insert(tid, word);
        inner.places.insert(java_thread, word);
        inner.threads.insert(word, Known { serial, side: Side { java_thread, found } });
    }

    /// All threads that there are have been entered, and all that come will be; or not, from now
    /// on.
    pub fn set_whole(&self, whole: bool) {
        self.0.lock().whole = whole;
    }

    /// A thread ends.
    pub fn leave(&self, tid: u32) {
        let mut inner = self.0.lock();
        if let Some(ended) = inner.forget(tid) {
            inner.ended.truncate(ENDED - 1);
            inner.ended.push_front(ended);
        }
    }

    /// The serial of the thread of which monitors have this word. `Err` if it is none of those that
    /// there are: so it is a virtual one, where monitors have ids.
    pub fn of(&self, word: u64) -> Result<Option<u32>, ()> {
        let inner = self.0.lock();
        let ended = || inner.ended.iter().find(|(ended, _)| *ended == word).map(|(_, serial)| *serial);
        match inner.threads.get(&word).map(|known| known.serial).or_else(ended) {
            None if inner.whole => Err(()),
            serial => Ok(serial),
        }
    }

    /// The serial of the thread of whose JavaThread something is so. `None` where there are more of
    /// them than `most`.
    pub fn find(&self, most: usize, is_it: impl Fn(&Side) -> bool) -> Option<u32> {
        let inner = self.0.lock();
        let mut threads = inner.threads.values().take(if inner.threads.len() > most { 0 } else { most });
        threads.find(|known| is_it(&known.side)).map(|known| known.serial)
    }
}

impl Inner {
    fn forget(&mut self, tid: u32) -> Option<(u64, u32)> {
        let word = self.words.remove(&tid)?;
        let known = self.threads.remove(&word)?;
        self.places.remove(&known.side.java_thread);
        Some((word, known.serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_not_ended_is_found_by_his_word_or_by_what_his_thread_is_like() {
        let certain = Certain::default();
        assert_eq!((certain.of(7), certain.find(9, |_| true)), (Ok(None), None));
        certain.leave(1);
        let memory = [[5_usize, 6], [0x1_0000_0007, 8]];
        let [one, other] = memory.each_ref().map(|side| side.as_ptr() as usize);
        certain.enter((1, 10), one, 7, false);
        certain.enter((2, 20), other, 8, true);
        assert_eq!((certain.of(7), certain.of(8), certain.of(9)), (Ok(Some(10)), Ok(Some(20)), Ok(None)));
        let with = |most, second| certain.find(most, |side| side.word(8) == Some(second));
        assert_eq!((with(9, 6), with(9, 8), with(9, 7)), (Some(10), Some(20), None));
        assert_eq!(certain.find(9, |side| side.half(0) == Some(7)), Some(20));
        assert_eq!(with(1, 6), None, "two are too many");
        certain.leave(2);
        certain.set_whole(true);
        assert_eq!(
            (with(9, 8), certain.of(8), certain.of(9)),
            (None, Ok(Some(20)), Err(())),
            "it may still have a lock"
        );
        certain.set_whole(false);
        assert_eq!(certain.of(9), Ok(None), "nobody knows what it is");
    }

    #[test]
    fn who_comes_has_the_place_of_one_that_is_gone() {
        let certain = Certain::default();
        certain.enter((1, 10), 0x1000, 7, true);
        certain.enter((2, 20), 0x1000, 8, false);
        certain.enter((1, 30), 0x2000, 9, false);
        assert_eq!([7, 8, 9].map(|word| certain.of(word)), [Ok(None), Ok(Some(20)), Ok(Some(30))]);
        assert_eq!(Side { java_thread: 0x10, found: true }.word(8), None, "nothing is there");
    }
}
