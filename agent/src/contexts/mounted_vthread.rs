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
const TABLE_ENTRIES: usize = 1 << 17;
/// An offset is used after this number of virtual threads had their id there.
const MIN_CONFIRMATIONS: u32 = 2;
/// The search reads the ids of this many virtual threads at most.
const MAX_CHECKED_VTHREADS: u32 = 1_000;

static TABLE: OnceCell<&'static [VthreadContext]> = OnceCell::new();
static SEARCH: Mutex<Search> = Mutex::new(Search { owner: None, checked: 0 });
/// The state of the search. A thread takes no lock once the state is final.
static SEARCH_STATE: AtomicU8 = AtomicU8::new(SearchState::Never as u8);

#[derive(Debug)]
struct Search {
    owner: Option<MonitorOwnerId>,
    checked: u32,
}

/// Defines the states of the search for the offset in a `JavaThread` that has the mounted virtual
/// thread's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum SearchState {
    /// There is no offset to find, the expected one was refuted, or several offsets remain.
    Never,
    /// Too few virtual threads were checked to know the offset.
    NotYet,
    /// The offset is known, and further virtual threads are checked.
    Likely,
    Certain,
}

/// Prepares for virtual threads, which this JVM may have.
pub fn start_search(owner: Option<MonitorOwnerId>) {
    let found = if owner.is_some() { SearchState::NotYet } else { SearchState::Never };
    *SEARCH.lock() = Search { owner, checked: 0 };
    SEARCH_STATE.store(found as u8, Relaxed);
}

/// Returns the table for the Java library. It is allocated for the first virtual thread.
pub fn table() -> &'static [VthreadContext] {
    TABLE.get_or_init(|| {
        let table: &[VthreadContext] =
            Vec::leak((0..TABLE_ENTRIES).map(|_| VthreadContext::default()).collect());
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
    let found = SEARCH_STATE.load(Relaxed);
    let found = if found == SearchState::Never as u8 || found == SearchState::Certain as u8 {
        found
    } else {
        // SAFETY: by the caller's promise.
        unsafe { SEARCH.lock().check(env, id) as u8 }
    };
    let seen = found >= SearchState::Likely as u8
        || virtual_threads::are_identified() && guard::unguarded().is_none();
    if seen { VTHREAD_CONTEXTS.claim(id) } else { None }
}

impl Search {
    /// Checks one more virtual thread.
    ///
    /// # Safety
    /// As for [`claim`].
    unsafe fn check(&mut self, env: usize, id: u64) -> SearchState {
        let Some(owner) = &mut self.owner else { return SearchState::Never };
        // SAFETY: by the caller's promise.
        let offset = unsafe { owner.narrow(env, id) };
        self.checked = self.checked.saturating_add(1);
        let found = search_state(offset.is_some(), owner.has_failed(), self.checked);
        // SAFETY: this is a location in each `JavaThread`, at an offset from its JNIEnv. An offset
        // of 0 turns the reads off.
        unsafe {
            match (found, offset) {
                (SearchState::Never, _) => VTHREAD_CONTEXTS.set_current_id_offset(0),
                (SearchState::Likely | SearchState::Certain, Some(offset)) => {
                    VTHREAD_CONTEXTS.set_current_id_offset(offset);
                }
                _ => {}
            }
        }
        SEARCH_STATE.store(found as u8, Relaxed);
        found
    }
}

/// Returns the state of the search after this number of virtual threads.
fn search_state(is_unique: bool, has_failed: bool, checked: u32) -> SearchState {
    match (is_unique, checked) {
        _ if has_failed => SearchState::Never,
        (true, MAX_CHECKED_VTHREADS..) => SearchState::Certain,
        (true, MIN_CONFIRMATIONS..) => SearchState::Likely,
        (false, MAX_CHECKED_VTHREADS..) => SearchState::Never,
        _ => SearchState::NotYet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_used_after_some_checks_and_not_if_several_remain() {
        assert_eq!(search_state(true, false, 1), SearchState::NotYet);
        assert_eq!(search_state(true, false, MIN_CONFIRMATIONS), SearchState::Likely);
        assert_eq!(search_state(true, false, MAX_CHECKED_VTHREADS), SearchState::Certain);
        assert_eq!(search_state(false, false, MAX_CHECKED_VTHREADS - 1), SearchState::NotYet);
        assert_eq!(
            search_state(false, false, MAX_CHECKED_VTHREADS),
            SearchState::Never,
            "still several places"
        );
        assert_eq!(search_state(false, true, MIN_CONFIRMATIONS), SearchState::Never, "it is at none");
    }
}
