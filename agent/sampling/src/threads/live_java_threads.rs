//! The Java threads that have not ended, with their JavaThreads. Lock events ask for the owner of a
//! monitor here.
//!
//! A thread that reported its own start removes itself at its end, under this module's lock. Its
//! JavaThread therefore stays allocated during a search. The end of a thread that was found later
//! may go unreported, so the kernel reads the memory of its JavaThread.

use std::collections::{HashMap, VecDeque};

use once_cell::sync::Lazy;
use parking_lot::Mutex;
use vouch_hotspot::java_thread::JavaThread;

/// How many ended threads are kept. The JVM takes locks for a thread after it reported its end.
const MAX_ENDED: usize = 256;

/// The threads of this process.
pub static LIVE_JAVA_THREADS: Lazy<LiveJavaThreads> = Lazy::new(LiveJavaThreads::default);

/// The answer that no platform thread has an owner word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPlatformThread;

/// The Java threads that have not ended, and those that ended last.
#[derive(Debug, Default)]
pub struct LiveJavaThreads(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The owner word that monitors have of a thread, by its kernel id.
    words: HashMap<u32, u64>,
    /// The owner word that monitors have of a thread, by the address of its JavaThread.
    words_by_address: HashMap<usize, u64>,
    /// The live threads, by owner word.
    threads: HashMap<u64, Known>,
    /// Owner words and serials of threads that ended, the last one first.
    ended: VecDeque<(u64, u32)>,
    /// True if every platform thread was entered.
    is_complete: bool,
}

#[derive(Debug)]
struct Known {
    serial: u32,
    java_thread: JavaThread,
}

impl LiveJavaThreads {
    /// Enters the calling thread, or one that was found and may have ended meanwhile.
    pub fn enter(&self, (tid, serial): (u32, u32), address: usize, word: u64, was_found: bool) {
        let mut inner = self.0.lock();
        // A thread that had the same id or the same JavaThread before has ended.
        inner.forget(tid);
        if let Some(before) = inner.words_by_address.remove(&address) {
            inner.threads.remove(&before);
        }
        inner.words.insert(tid, word);
        inner.words_by_address.insert(address, word);
        let java_thread = if was_found {
            JavaThread::unprotected(address)
        } else {
            // SAFETY: the calling thread removes itself at its end, under this lock, before the JVM
            // frees its JavaThread.
            unsafe { JavaThread::protected(address) }
        };
        inner.threads.insert(word, Known { serial, java_thread });
    }

    /// Sets whether every platform thread was entered, and whether each new one will be.
    pub fn set_complete(&self, is_complete: bool) {
        self.0.lock().is_complete = is_complete;
    }

    /// Removes a thread that ends.
    pub fn leave(&self, tid: u32) {
        let mut inner = self.0.lock();
        if let Some(ended) = inner.forget(tid) {
            inner.ended.truncate(MAX_ENDED - 1);
            inner.ended.push_front(ended);
        }
    }

    /// Returns the serial of the thread with this owner word. Returns `Err` if all platform threads
    /// are known and none of them has it. Where owner words are thread ids, the owner is then a
    /// virtual thread.
    pub fn serial(&self, word: u64) -> Result<Option<u32>, NoPlatformThread> {
        let inner = self.0.lock();
        let ended = || inner.ended.iter().find(|(ended, _)| *ended == word).map(|(_, serial)| *serial);
        match inner.threads.get(&word).map(|known| known.serial).or_else(ended) {
            None if inner.is_complete => Err(NoPlatformThread),
            serial => Ok(serial),
        }
    }

    /// Returns the serial of the thread with a JavaThread that passes `is_it`. Returns `None` if
    /// there are more than `max` threads, because a search holds up every thread that starts or
    /// ends.
    pub fn find(&self, max: usize, is_it: impl Fn(&JavaThread) -> bool) -> Option<u32> {
        let inner = self.0.lock();
        let mut threads = inner.threads.values().take(if inner.threads.len() > max { 0 } else { max });
        threads.find(|known| is_it(&known.java_thread)).map(|known| known.serial)
    }
}

impl Inner {
    fn forget(&mut self, tid: u32) -> Option<(u64, u32)> {
        let word = self.words.remove(&tid)?;
        let known = self.threads.remove(&word)?;
        self.words_by_address.remove(&known.java_thread.address());
        Some((word, known.serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_found_by_its_owner_word_or_by_a_word_of_its_java_thread() {
        let threads = LiveJavaThreads::default();
        assert_eq!((threads.serial(7), threads.find(9, |_| true)), (Ok(None), None));
        threads.leave(1);
        let memory = [[5_usize, 6], [0x1_0000_0007, 8]];
        let [one, other] = memory.each_ref().map(|words| words.as_ptr() as usize);
        threads.enter((1, 10), one, 7, false);
        threads.enter((2, 20), other, 8, true);
        assert_eq!(
            (threads.serial(7), threads.serial(8), threads.serial(9)),
            (Ok(Some(10)), Ok(Some(20)), Ok(None))
        );
        let with = |max, second| threads.find(max, |thread| thread.word(8) == Some(second));
        assert_eq!((with(9, 6), with(9, 8), with(9, 7)), (Some(10), Some(20), None));
        assert_eq!(threads.find(9, |thread| thread.low_u32(0) == Some(7)), Some(20));
        assert_eq!(with(1, 6), None, "at most one thread is searched");
        threads.leave(2);
        threads.set_complete(true);
        assert_eq!(
            (with(9, 8), threads.serial(8), threads.serial(9)),
            (None, Ok(Some(20)), Err(NoPlatformThread)),
            "an ended thread may still own a lock"
        );
        threads.set_complete(false);
        assert_eq!(threads.serial(9), Ok(None), "not every thread is known");
    }

    #[test]
    fn a_new_thread_replaces_one_with_the_same_id_or_java_thread() {
        let threads = LiveJavaThreads::default();
        threads.enter((1, 10), 0x1000, 7, true);
        threads.enter((2, 20), 0x1000, 8, false);
        threads.enter((1, 30), 0x2000, 9, false);
        assert_eq!([7, 8, 9].map(|word| threads.serial(word)), [Ok(None), Ok(Some(20)), Ok(Some(30))]);
        assert_eq!(JavaThread::unprotected(0x10).word(8), None, "no memory is mapped there");
    }
}
