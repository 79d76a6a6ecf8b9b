//! The contexts of virtual threads: their table, and the offset of a carrier's mounted virtual
//! thread in this JVM.
//!
//! A handler reads the mounted virtual thread from Java's heap, or from that offset if the heap
//! cannot be read. If neither is certain, the samples of virtual threads have no context, and they
//! are counted. The virtual thread must never be guessed.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vouch_hotspot::monitor_owner_id::MonitorOwnerId;
use vouch_signal::vthread_contexts::{VTHREAD_CONTEXTS, VthreadContext};

use crate::guard;
use crate::virtual_threads;

/// The number of entries for virtual threads with a context, if they are distributed evenly. The
/// table takes 5 MiB.
const ENTRIES: usize = 1 << 17;
/// An offset is used after this number of virtual threads had their id there.
const ENOUGH: u32 = 2;
/// The search reads the ids of this many virtual threads at most.
const LOOKED_AT: u32 = 1_000;

static TABLE: OnceCell<&'static [VthreadContext]> = OnceCell::new();
static SEARCH: Mutex<Search> = Mutex::new(Search { owner: None, asked: 0 });
/// The state of the search. A thread takes no lock once the state is final.
static FOUND: AtomicU8 = AtomicU8::new(Found::Never as u8);

#[derive(Debug)]
struct Search {
    owner: Option<MonitorOwnerId>,
    asked: u32,
}

/// Defines the states of the search for the offset in a `JavaThread` that has the mounted virtual
/// thread's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Found {
    /// There is no offset to find, the expected one was refuted, or several offsets remain.
    Never,
    /// Too few virtual threads were checked.
    NotYet,
    /// The offset is known, and further virtual threads are checked.
    Likely,
    Certain,
}

/// Prepares for virtual threads, which this JVM may have.
pub fn expect(owner: Option<MonitorOwnerId>) {
    let found = if owner.is_some() { Found::NotYet } else { Found::Never };
    *SEARCH.lock() = Search { owner, asked: 0 };
    FOUND.store(found as u8, Relaxed);
}

/// Returns the table for the Java library. It is allocated for the first virtual thread.
pub fn table() -> &'static [VthreadContext] {
    TABLE.get_or_init(|| {
        let table: &[VthreadContext] = Vec::leak((0..ENTRIES).map(|_| VthreadContext::default()).collect());
        VTHREAD_CONTEXTS.set_table(table);
        table
    })
}

/// Claims an entry of the table for the mounted virtual thread. Returns its offset in the table, or
/// `None` if it gets no entry.
///
/// # Safety
/// `env` must be the calling thread's JNIEnv, and `id` the id of the virtual thread that runs on
/// it.
pub unsafe fn claim(env: usize, id: u64) -> Option<usize> {
    table();
    let found = FOUND.load(Relaxed);
    let found = if found == Found::Never as u8 || found == Found::Certain as u8 {
        found
    } else {
        // SAFETY: by the caller's promise.
        unsafe { SEARCH.lock().look(env, id) as u8 }
    };
    let seen =
        found >= Found::Likely as u8 || virtual_threads::are_identified() && guard::unguarded().is_none();
    if seen { VTHREAD_CONTEXTS.claim(id) } else { None }
}

impl Search {
    /// Checks one more virtual thread.
    ///
    /// # Safety
    /// As for [`claim`].
    unsafe fn look(&mut self, env: usize, id: u64) -> Found {
        let Some(owner) = &mut self.owner else { return Found::Never };
        // SAFETY: by the caller's promise.
        let place = unsafe { owner.narrow(env, id) };
        self.asked = self.asked.saturating_add(1);
        let found = found(place.is_some(), owner.has_failed(), self.asked);
        // SAFETY: this is a location in each `JavaThread`, at an offset from its JNIEnv. An offset
        // of 0 turns the reads off.
        unsafe {
            match (found, place) {
                (Found::Never, _) => VTHREAD_CONTEXTS.set_current_id_offset(0),
                (Found::Likely | Found::Certain, Some(place)) => {
                    VTHREAD_CONTEXTS.set_current_id_offset(place);
                }
                _ => {}
            }
        }
        FOUND.store(found as u8, Relaxed);
        found
    }
}

/// Returns the state of the search after this number of virtual threads.
fn found(one_place: bool, nowhere: bool, asked: u32) -> Found {
    match (one_place, asked) {
        _ if nowhere => Found::Never,
        (true, LOOKED_AT..) => Found::Certain,
        (true, ENOUGH..) => Found::Likely,
        (false, LOOKED_AT..) => Found::Never,
        _ => Found::NotYet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_believed_after_some_and_given_up_where_there_are_several() {
        assert_eq!(found(true, false, 1), Found::NotYet);
        assert_eq!(found(true, false, ENOUGH), Found::Likely);
        assert_eq!(found(true, false, LOOKED_AT), Found::Certain);
        assert_eq!(found(false, false, LOOKED_AT - 1), Found::NotYet);
        assert_eq!(found(false, false, LOOKED_AT), Found::Never, "still several places");
        assert_eq!(found(false, true, ENOUGH), Found::Never, "it is at none");
    }
}
