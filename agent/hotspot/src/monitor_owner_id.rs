//! Finds `JavaThread::_monitor_owner_id`: the id of the thread that a JavaThread runs as, which is
//! its own id or that of the mounted virtual thread.
//!
//! JDK 24 and later need the id for monitors, and write it at each mount. VMStructs does not
//! publish the offset, so it is found by its value. In a platform thread the word is that thread's
//! own id. In a carrier it is the id of the virtual thread that runs the search. JFR's older word
//! cannot be used: it is not written when a virtual thread unmounts. An offset that is not certain
//! is not used.

use crate::HotSpot;
use crate::fields;
use crate::vmstructs::VmStructs;

const WORD: usize = size_of::<usize>();

/// A search for the offset of `_monitor_owner_id` in a JavaThread.
#[derive(Debug)]
pub struct MonitorOwnerId {
    /// The offset of the JNIEnv in a JavaThread.
    env: usize,
    /// The offsets in a JavaThread at which `_monitor_owner_id` may still be.
    candidates: Vec<usize>,
}

impl MonitorOwnerId {
    /// Begins the search for the offset: finds the offsets at which the calling thread's JavaThread
    /// has `id`, the thread's own. `env` is the offset of the JNIEnv in a JavaThread. `None` if
    /// VMStructs does not publish the size of a JavaThread.
    ///
    /// # Safety
    /// `java_thread` must be the calling thread's JavaThread.
    pub unsafe fn new(hotspot: &HotSpot, java_thread: usize, env: usize, id: u64) -> Option<Self> {
        let vm_structs = VmStructs::find(hotspot)?;
        let begin = vm_structs.offset(&fields::JAVA_THREAD_OBJ)?;
        let size = vm_structs.size(&fields::JAVA_THREAD)?;
        let mut search =
            Self { env, candidates: (begin / WORD + 1..size / WORD).map(|word| word * WORD).collect() };
        // SAFETY: by the caller's promise.
        unsafe { search.retain(java_thread, id) };
        Some(search)
    }

    /// Drops the offsets at which the calling thread's JavaThread does not have `id`, the id of the
    /// virtual thread that the calling thread runs as. Once one offset remains, returns its
    /// distance from the JNIEnv.
    ///
    /// # Safety
    /// `env` must be the calling thread's JNIEnv.
    pub unsafe fn narrow(&mut self, env: usize, id: u64) -> Option<usize> {
        // SAFETY: by the caller's promise, the calling thread's JavaThread has the JNIEnv at the
        // offset `self.env`.
        unsafe { self.retain(env.wrapping_sub(self.env), id) };
        match self.candidates.as_slice() {
            [offset] => Some(offset.wrapping_sub(self.env)),
            _ => None,
        }
    }

    /// Returns true if no offset remains: this JVM does not have the id in its JavaThreads.
    pub fn has_failed(&self) -> bool {
        self.candidates.is_empty()
    }

    /// # Safety
    /// `java_thread` must be the calling thread's JavaThread.
    unsafe fn retain(&mut self, java_thread: usize, id: u64) {
        // SAFETY: each candidate is the offset of an aligned word within the size that the JVM
        // publishes for a JavaThread.
        self.candidates
            .retain(|offset| unsafe { ((java_thread + offset) as *const u64).read_volatile() } == id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_found_once_one_candidate_remains() {
        let mut search = MonitorOwnerId { env: 16, candidates: (0..6).map(|word| word * WORD).collect() };
        // SAFETY: each array stands for a JavaThread with its JNIEnv in the third word.
        let mut narrow = |words: [u64; 6], id| unsafe { search.narrow(words.as_ptr() as usize + 16, id) };
        assert_eq!(narrow([1, 7, 0, 7, 7, 2], 7), None, "three of them");
        assert_eq!(narrow([1, 3, 0, 9, 9, 9], 9), None, "two of them");
        assert_eq!(narrow([1, 5, 0, 8, 5, 8], 5), Some(16));
        assert_eq!(narrow([1, 5, 0, 8, 6, 8], 6), Some(16));
        assert_eq!(narrow([4, 4, 4, 4, 5, 4], 4), None, "it was another one");
        assert!(search.has_failed());
    }
}
