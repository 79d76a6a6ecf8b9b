//! Where a JavaThread of this JVM has the id of the thread that it runs as: its own, or a virtual
//! thread's that it carries.
//!
//! From JDK 24 on the JVM needs to know by whom a monitor is held, and writes it at each mount. No
//! table tells where, so it is found by what stands there: in a thread's own JavaThread its own id,
//! in a carrier's the virtual thread's that asks. (JFR's word of the same kind, which is older,
//! does not follow when a virtual thread leaves: it lies in what is no JavaThread's alone, before.)
//! What is not certain is not found.

use crate::HotSpot;
use crate::fields;
use crate::vmstructs::Table;

const WORD: usize = size_of::<usize>();

/// The places that it may be.
#[derive(Debug)]
pub struct Owner {
    /// Where the JNIEnv lies in a JavaThread.
    env: usize,
    /// In a JavaThread.
    places: Vec<usize>,
}

impl Owner {
    /// The places at which the calling thread's own JavaThread has its id; `env` is where it has
    /// its JNIEnv. `None` where the JVM's tables do not tell how large one is.
    ///
    /// # Safety
    /// `own` must be the calling thread's JavaThread.
    pub unsafe fn of(hotspot: &HotSpot, own: usize, env: usize, id: u64) -> Option<Self> {
        let table = Table::of(hotspot)?;
        let begin = table.offset(&fields::JAVA_THREAD_OBJ)?;
        let size = table.size(&fields::JAVA_THREAD)?;
        let mut owner =
            Self { env, places: (begin / WORD + 1..size / WORD).map(|word| word * WORD).collect() };
        // SAFETY: by the caller's promise.
        unsafe { owner.keep(own, id) };
        Some(owner)
    }

    /// The calling thread, whose JNIEnv is given, runs as the virtual thread with this id: gives
    /// how far from a JNIEnv that stands, once there is but one place for it.
    ///
    /// # Safety
    /// It must be the calling thread's JNIEnv.
    pub unsafe fn narrow(&mut self, env: usize, id: u64) -> Option<usize> {
        // SAFETY: by the caller's promise it lies in the calling thread's JavaThread, there.
        unsafe { self.keep(env.wrapping_sub(self.env), id) };
        match self.places.as_slice() {
            [place] => Some(place.wrapping_sub(self.env)),
            _ => None,
        }
    }

    /// True if it is at none of the places that it might have been at.
    pub fn is_nowhere(&self) -> bool {
        self.places.is_empty()
    }

    /// # Safety
    /// `own` must be the calling thread's JavaThread.
    unsafe fn keep(&mut self, own: usize, id: u64) {
        // SAFETY: each place is an aligned word of a JavaThread, by the JVM's own word on how large
        // one is.
        self.places.retain(|place| unsafe { ((own + place) as *const u64).read_volatile() } == id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_once_there_is_but_one() {
        let mut owner = Owner { env: 16, places: (0..6).map(|word| word * WORD).collect() };
        // SAFETY: each stands for a JavaThread with its JNIEnv in the third word.
        let mut narrow = |words: [u64; 6], id| unsafe { owner.narrow(words.as_ptr() as usize + 16, id) };
        assert_eq!(narrow([1, 7, 0, 7, 7, 2], 7), None, "three of them");
        assert_eq!(narrow([1, 3, 0, 9, 9, 9], 9), None, "two of them");
        assert_eq!(narrow([1, 5, 0, 8, 5, 8], 5), Some(16));
        assert_eq!(narrow([1, 5, 0, 8, 6, 8], 6), Some(16));
        assert_eq!(narrow([4, 4, 4, 4, 5, 4], 4), None, "it was another one");
        assert!(owner.is_nowhere());
    }
}
