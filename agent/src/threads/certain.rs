//! Java threads of which it is certain that they have not ended: the JVM's side of each is there for as long as this says so.
//!
//! A thread is taken out by itself, at its end, and waits for whoever is asking. They are found by the word that a monitor has of its owner.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Those of the process.
pub static CERTAIN: Certain = Certain::new();

/// All of them.
#[derive(Debug)]
pub struct Certain(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    /// By the kernel's id: what monitors have of it.
    words: Option<HashMap<u32, u64>>,
    /// By that.
    threads: Option<HashMap<u64, Known>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    serial: u32,
    java_thread: usize,
    /// It did not come itself, and nobody has asked yet whether it lives.
    doubted: bool,
}

impl Certain {
    const fn new() -> Self {
        Self(Mutex::new(Inner { words: None, threads: None }))
    }

    /// A thread is there: the calling one, or one that was found, which may have ended meanwhile.
    pub fn enter(&self, (tid, serial): (u32, u32), java_thread: usize, word: u64, found: bool) {
        let mut inner = self.0.lock();
        let Inner { words, threads } = &mut *inner;
        let known = Known { serial, java_thread, doubted: found };
        words.get_or_insert_default().insert(tid, word);
        threads.get_or_insert_default().insert(word, known);
    }

    /// One that was found had not ended after it had been entered.
    pub fn confirm(&self, tid: u32) {
        let mut inner = self.0.lock();
        let Inner { words: Some(words), threads: Some(threads) } = &mut *inner else { return };
        if let Some(known) = words.get(&tid).and_then(|word| threads.get_mut(word)) {
            known.doubted = false;
        }
    }

    /// A thread ends.
    pub fn leave(&self, tid: u32) {
        let mut inner = self.0.lock();
        let Inner { words: Some(words), threads: Some(threads) } = &mut *inner else { return };
        if let Some(word) = words.remove(&tid) {
            threads.remove(&word);
        }
    }

    /// The serial of the thread of which monitors have this word.
    pub fn of(&self, word: u64) -> Option<u32> {
        let inner = self.0.lock();
        inner.threads.as_ref()?.get(&word).map(|known| known.serial)
    }

    /// The serial of the thread of whose JavaThread, which is there as long as this asks, something is so. `None` where there are more of them
    /// than `most`.
    pub fn find(&self, most: usize, is_it: impl Fn(usize) -> bool) -> Option<u32> {
        let inner = self.0.lock();
        let threads = inner.threads.as_ref().filter(|threads| threads.len() <= most)?;
        let found = threads.values().find(|known| !known.doubted && is_it(known.java_thread));
        found.map(|known| known.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_not_ended_is_found_by_his_word_or_by_what_his_thread_is_like() {
        let certain = Certain::new();
        assert_eq!((certain.of(7), certain.find(9, |_| true)), (None, None));
        certain.leave(1);
        certain.enter((1, 10), 0x1000, 7, false);
        certain.enter((2, 20), 0x2000, 8, true);
        assert_eq!((certain.of(7), certain.of(8), certain.of(9)), (Some(10), Some(20), None));
        let at = |most, place| certain.find(most, |java_thread| java_thread == place);
        assert_eq!(
            (at(9, 0x1000), at(9, 0x2000)),
            (Some(10), None),
            "nobody knows whether the second one's is there"
        );
        certain.confirm(2);
        assert_eq!((at(9, 0x2000), at(1, 0x2000)), (Some(20), None), "two are too many");
        certain.leave(2);
        certain.confirm(2);
        assert_eq!((at(9, 0x2000), certain.of(8), certain.of(7)), (None, None, Some(10)));
    }
}
