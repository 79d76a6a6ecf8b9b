//! For whom virtual threads work: a handler finds which one its thread carries, and what that one
//! has said.
//!
//! By whose id is told by who reads Java's heap; where that cannot be told just then, newer JVMs'
//! JavaThreads have the id of the thread that they run as, their own or a virtual one's, which is
//! written at each mount. The table by that id is written by the program's own Java code, each
//! entry by the virtual thread that has it. An entry's place depends on the id alone, within a
//! bucket: what is taken out leaves no gap that a search would have to know of. It must never be
//! given back: a handler may look at any time.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::thread_context::Purpose;

/// So many entries an id may lie in.
const BUCKET: usize = 16;

/// One virtual thread that works for somebody. The Java library knows where what lies.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Entry {
    purpose: Purpose,
    /// 0: it is nobody's.
    id: AtomicU64,
}

/// The table, and where a JavaThread has whom it runs as.
#[derive(Debug)]
pub struct Virtuals {
    entries: AtomicPtr<Entry>,
    /// A multiple of a bucket.
    length: AtomicUsize,
    /// How far from the JNIEnv, either way; 0 is unknown.
    owner: AtomicUsize,
}

/// That of the process.
pub static VIRTUALS: Virtuals = Virtuals::new();

impl Virtuals {
    /// One that knows nobody.
    #[must_use]
    pub const fn new() -> Self {
        let entries = AtomicPtr::new(core::ptr::null_mut());
        Self { entries, length: AtomicUsize::new(0), owner: AtomicUsize::new(0) }
    }

    /// Has this memory for its table, from now on, and once.
    pub fn begin(&self, entries: &'static [Entry]) {
        self.length.store(entries.len() / BUCKET * BUCKET, Ordering::Relaxed);
        self.entries.store(entries.as_ptr().cast_mut(), Ordering::Release);
    }

    /// From now on handlers look there for whom a thread runs as.
    ///
    /// # Safety
    /// So far from each JavaThread's JNIEnv lies a word of that JavaThread.
    pub unsafe fn watch(&self, owner: usize) {
        self.owner.store(owner, Ordering::Release);
    }

    /// For whom the virtual thread with this id works; `None`: for nobody.
    #[inline]
    pub fn purpose(&self, id: u64) -> Option<&Purpose> {
        let found = self.bucket(id).iter().find(|entry| entry.id.load(Ordering::Acquire) == id);
        found.map(|entry| &entry.purpose)
    }

    /// The same of the one that the thread with this JNIEnv carries, as its JavaThread has it.
    ///
    /// # Safety
    /// It must be the calling thread's own JNIEnv, or null.
    #[inline]
    pub unsafe fn purpose_by_owner(&self, env: *mut c_void) -> Option<&Purpose> {
        let owner = self.owner.load(Ordering::Acquire);
        if owner == 0 || env.is_null() {
            return None;
        }
        // SAFETY: by the promise of `watch`, a word of the thread's own JavaThread.
        self.purpose(unsafe { env.wrapping_byte_add(owner).cast::<u64>().read_volatile() })
    }

    /// Gives a virtual thread an entry, in which it works for nobody: how far in the table it lies,
    /// in bytes. `None`: there is no room.
    pub fn claim(&self, id: u64) -> Option<usize> {
        let free = |entry: &&Entry| {
            let taken = entry.id.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        };
        let entry = self.bucket(id).iter().find(free)?;
        // Nobody else writes there from here on, whatever whoever had it has left.
        entry.purpose.clear();
        let table = self.entries.load(Ordering::Acquire) as usize;
        (core::ptr::from_ref(entry) as usize).checked_sub(table)
    }

    /// Where an id may lie.
    #[inline]
    fn bucket(&self, id: u64) -> &'static [Entry] {
        let table = self.entries.load(Ordering::Acquire);
        let buckets = self.length.load(Ordering::Relaxed) / BUCKET;
        // Fibonacci hashing: ids are given in sequence.
        let hash = (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        match hash.checked_rem(buckets) {
            // SAFETY: the table has so many buckets, and lives for ever.
            Some(bucket) if !table.is_null() && id != 0 => unsafe {
                core::slice::from_raw_parts(table.add(bucket.wrapping_mul(BUCKET)), BUCKET)
            },
            _ => &[],
        }
    }
}

impl Default for Virtuals {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn table(entries: usize) -> (Virtuals, &'static [Entry]) {
        let memory: &'static [Entry] = Vec::leak((0..entries).map(|_| Entry::default()).collect());
        let virtuals = Virtuals::new();
        virtuals.begin(memory);
        (virtuals, memory)
    }

    /// A JavaThread that runs as this thread.
    fn context(virtuals: &Virtuals, id: u64) -> u32 {
        let mut words = [7, 0, id];
        // SAFETY: the word lies two further on, in the same array.
        let purpose = unsafe {
            virtuals.watch(2 * size_of::<u64>());
            virtuals.purpose_by_owner(words.as_mut_ptr().cast())
        };
        purpose.map_or(0, |purpose| purpose.read().0)
    }

    #[test]
    fn each_virtual_thread_has_its_own_context_and_nobody_elses() {
        let (virtuals, memory) = table(64);
        let entry = |at: usize| &memory[at / size_of::<Entry>()];
        let first = virtuals.claim(30).unwrap();
        let second = virtuals.claim(31).unwrap();
        assert_eq!(context(&virtuals, 30), 0);
        entry(first).purpose.write(5, 0, [0; 3]);
        entry(second).purpose.write(6, 0, [0; 3]);
        assert_eq!([30, 31, 32, 0].map(|id| context(&virtuals, id)), [5, 6, 0, 0]);
        assert_eq!(
            [30, 31, 32, 0].map(|id| virtuals.purpose(id).map(|one| one.read().0)),
            [Some(5), Some(6), None, None]
        );
        // It is given back by the program, and whoever has it next has nothing of what was left in
        // it.
        entry(first).id.store(0, Ordering::Relaxed);
        assert_eq!([30, 31].map(|id| context(&virtuals, id)), [0, 6]);
        assert_eq!((virtuals.claim(30), context(&virtuals, 30)), (Some(first), 0));
    }

    #[test]
    fn a_full_bucket_has_no_room_and_one_that_left_makes_some() {
        let (virtuals, memory) = table(BUCKET + 3);
        for id in 1..=BUCKET as u64 {
            assert!(virtuals.claim(id).is_some());
        }
        assert_eq!(virtuals.claim(99), None);
        memory[3].id.store(0, Ordering::Relaxed);
        assert_eq!(virtuals.claim(99), Some(3 * size_of::<Entry>()));
    }

    #[test]
    fn what_is_not_known_is_no_context() {
        let virtuals = Virtuals::new();
        assert_eq!((virtuals.claim(5), context(&virtuals, 5)), (None, 0));
        // SAFETY: nothing is read of it.
        assert!(unsafe { virtuals.purpose_by_owner(core::ptr::null_mut()) }.is_none());
    }

    #[test]
    fn the_java_library_knows_where_what_lies() {
        use core::mem::offset_of;
        assert_eq!((size_of::<Entry>(), offset_of!(Entry, purpose), offset_of!(Entry, id)), (40, 0, 32));
    }
}
