//! The table of virtual threads' contexts. A handler finds a context by the id of the mounted
//! thread.
//!
//! The handler gets the id from the walker that reads the Java heap. If that fails, the id comes
//! from a JavaThread's field, which newer JVMs write at each mount: the id of the current thread,
//! platform or virtual. The program's Java code writes the table, each virtual thread its own
//! entry.
//!
//! An entry is in the bucket of its id, so a removed entry leaves no gap that would end a search.
//! The table must never be freed, because a handler may read it at any time.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::thread_context::ThreadContext;

/// The number of entries in a bucket of the table.
const BUCKET_ENTRIES: usize = 16;

/// The context of one virtual thread. The Java library writes it by these offsets.
#[derive(Debug, Default)]
#[repr(C)]
pub struct VthreadContext {
    context: ThreadContext,
    /// The id of the virtual thread, or 0 for a free entry.
    id: AtomicU64,
}

/// The table of virtual threads' contexts, and where a JavaThread has the id of its current thread.
#[derive(Debug)]
pub struct VthreadContexts {
    entries: AtomicPtr<VthreadContext>,
    /// The number of entries of the table, a multiple of a bucket's.
    length: AtomicUsize,
    /// The offset of the current thread's id in a JavaThread from the JNIEnv, which may be
    /// negative. 0 means unknown.
    current_id_offset: AtomicUsize,
}

/// The contexts of virtual threads in this process.
pub static VTHREAD_CONTEXTS: VthreadContexts = VthreadContexts::new();

impl VthreadContexts {
    /// Makes an empty table of contexts.
    #[must_use]
    pub const fn new() -> Self {
        let entries = AtomicPtr::new(core::ptr::null_mut());
        Self { entries, length: AtomicUsize::new(0), current_id_offset: AtomicUsize::new(0) }
    }

    /// Sets the memory of the table of contexts. It must be called only once.
    pub fn set_table(&self, entries: &'static [VthreadContext]) {
        self.length.store(entries.len() / BUCKET_ENTRIES * BUCKET_ENTRIES, Ordering::Relaxed);
        self.entries.store(entries.as_ptr().cast_mut(), Ordering::Release);
    }

    /// Sets the offset from which handlers read the id of the current thread.
    ///
    /// # Safety
    /// That offset from each JNIEnv must be a word of its JavaThread.
    pub unsafe fn set_current_id_offset(&self, offset: usize) {
        self.current_id_offset.store(offset, Ordering::Release);
    }

    /// Returns the context of the virtual thread with this id, or `None` if the table has none.
    #[inline]
    pub fn get(&self, id: u64) -> Option<&ThreadContext> {
        let found = self.bucket(id).iter().find(|entry| entry.id.load(Ordering::Acquire) == id);
        found.map(|entry| &entry.context)
    }

    /// Returns the context of the thread that the JavaThread of this JNIEnv runs now, if that is a
    /// virtual thread in the table.
    ///
    /// # Safety
    /// It must be the calling thread's own JNIEnv, or null.
    #[inline]
    pub unsafe fn get_current(&self, env: *mut c_void) -> Option<&ThreadContext> {
        let offset = self.current_id_offset.load(Ordering::Acquire);
        if offset == 0 || env.is_null() {
            return None;
        }
        // SAFETY: the caller of `set_current_id_offset` promised that this is a word of the
        // thread's own JavaThread.
        self.get(unsafe { env.wrapping_byte_add(offset).cast::<u64>().read_volatile() })
    }

    /// Claims an empty entry for a virtual thread, and returns its offset in the table, in bytes.
    /// The result is `None` if the bucket is full.
    pub fn claim(&self, id: u64) -> Option<usize> {
        let free = |entry: &&VthreadContext| {
            let taken = entry.id.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        };
        let entry = self.bucket(id).iter().find(free)?;
        // Only this virtual thread writes the entry from now on. The values of its last owner are
        // cleared.
        entry.context.clear();
        let table = self.entries.load(Ordering::Acquire) as usize;
        (core::ptr::from_ref(entry) as usize).checked_sub(table)
    }

    /// Returns the bucket in which the entry of a virtual thread with this id must be.
    #[inline]
    fn bucket(&self, id: u64) -> &'static [VthreadContext] {
        let table = self.entries.load(Ordering::Acquire);
        let buckets = self.length.load(Ordering::Relaxed) / BUCKET_ENTRIES;
        // Fibonacci hashing spreads ids, which are sequential.
        let hash = (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        match hash.checked_rem(buckets) {
            // SAFETY: the table has that many buckets and is never freed.
            Some(bucket) if !table.is_null() && id != 0 => unsafe {
                core::slice::from_raw_parts(table.add(bucket.wrapping_mul(BUCKET_ENTRIES)), BUCKET_ENTRIES)
            },
            _ => &[],
        }
    }
}

impl Default for VthreadContexts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn table(entries: usize) -> (VthreadContexts, &'static [VthreadContext]) {
        let memory: &'static [VthreadContext] =
            Vec::leak((0..entries).map(|_| VthreadContext::default()).collect());
        let contexts = VthreadContexts::new();
        contexts.set_table(memory);
        (contexts, memory)
    }

    /// Returns the number of the context that a handler finds, if the JavaThread's current thread
    /// has this id.
    fn context(contexts: &VthreadContexts, id: u64) -> u32 {
        let mut words = [7, 0, id];
        // SAFETY: the word is the third one of the array that begins at the JNIEnv.
        let found = unsafe {
            contexts.set_current_id_offset(2 * size_of::<u64>());
            contexts.get_current(words.as_mut_ptr().cast())
        };
        found.map_or(0, |context| context.read().0)
    }

    #[test]
    fn each_virtual_thread_has_only_its_own_context() {
        let (contexts, memory) = table(64);
        let entry = |at: usize| &memory[at / size_of::<VthreadContext>()];
        let first = contexts.claim(30).unwrap();
        let second = contexts.claim(31).unwrap();
        assert_eq!(context(&contexts, 30), 0);
        entry(first).context.write(5, 0, [0; 3]);
        entry(second).context.write(6, 0, [0; 3]);
        assert_eq!([30, 31, 32, 0].map(|id| context(&contexts, id)), [5, 6, 0, 0]);
        assert_eq!(
            [30, 31, 32, 0].map(|id| contexts.get(id).map(|one| one.read().0)),
            [Some(5), Some(6), None, None]
        );
        // The program frees the entry, and its next owner starts without the old values.
        entry(first).id.store(0, Ordering::Relaxed);
        assert_eq!([30, 31].map(|id| context(&contexts, id)), [0, 6]);
        assert_eq!((contexts.claim(30), context(&contexts, 30)), (Some(first), 0));
    }

    #[test]
    fn a_full_bucket_refuses_a_claim_until_an_entry_is_freed() {
        let (contexts, memory) = table(BUCKET_ENTRIES + 3);
        for id in 1..=BUCKET_ENTRIES as u64 {
            assert!(contexts.claim(id).is_some());
        }
        assert_eq!(contexts.claim(99), None);
        memory[3].id.store(0, Ordering::Relaxed);
        assert_eq!(contexts.claim(99), Some(3 * size_of::<VthreadContext>()));
    }

    #[test]
    fn an_unknown_id_or_table_has_no_context() {
        let contexts = VthreadContexts::new();
        assert_eq!((contexts.claim(5), context(&contexts, 5)), (None, 0));
        // SAFETY: nothing is read through a null JNIEnv.
        assert!(unsafe { contexts.get_current(core::ptr::null_mut()) }.is_none());
    }

    #[test]
    fn the_layout_is_what_the_java_library_writes() {
        use core::mem::offset_of;
        assert_eq!(
            (
                size_of::<VthreadContext>(),
                offset_of!(VthreadContext, context),
                offset_of!(VthreadContext, id)
            ),
            (40, 0, 32)
        );
    }
}
