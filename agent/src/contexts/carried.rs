//! For whom virtual threads work: their table, and where this JVM tells by number whom a carrier
//! carries.
//!
//! A handler reads that from Java's heap, and where that cannot be read just then there. Where
//! neither is certain no virtual thread has a context: its samples carry none, and it is counted.
//! It must never be guessed.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vouch_hotspot::monitor_owner_id::MonitorOwnerId;
use vouch_signal::vthread_contexts::{VTHREAD_CONTEXTS, VthreadContext};

use crate::guard;
use crate::virtual_threads;

/// So many virtual threads can be in a context at once, if they lie evenly: 5 MiB.
const ENTRIES: usize = 1 << 17;
/// So many virtual threads must have been found at the same place before it is believed,
const ENOUGH: u32 = 2;
/// and so many are looked at.
const LOOKED_AT: u32 = 1_000;

static TABLE: OnceCell<&'static [VthreadContext]> = OnceCell::new();
static SEARCH: Mutex<Search> = Mutex::new(Search { owner: None, asked: 0 });
/// What the search has come to: no lock is taken for what is settled.
static FOUND: AtomicU8 = AtomicU8::new(Found::Never as u8);

#[derive(Debug)]
struct Search {
    owner: Option<MonitorOwnerId>,
    asked: u32,
}

/// What is known of the place where a JavaThread has whom it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Found {
    /// There is nothing to look for, or it is not where it was thought to be, or at one of several
    /// places.
    Never,
    /// Not enough has been looked at.
    NotYet,
    /// It is known, and looked at further.
    Likely,
    Certain,
}

/// There may be virtual threads in this JVM.
pub fn expect(owner: Option<MonitorOwnerId>) {
    let found = if owner.is_some() { Found::NotYet } else { Found::Never };
    *SEARCH.lock() = Search { owner, asked: 0 };
    FOUND.store(found as u8, Relaxed);
}

/// The table, for the Java library; made when the first virtual thread comes.
pub fn table() -> &'static [VthreadContext] {
    TABLE.get_or_init(|| {
        let table: &[VthreadContext] = Vec::leak((0..ENTRIES).map(|_| VthreadContext::default()).collect());
        VTHREAD_CONTEXTS.set_table(table);
        table
    })
}

/// Gives the virtual thread that the calling thread carries an entry of the table: how far in it
/// that lies. `None`: it has none.
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
    /// Looks at one more virtual thread.
    ///
    /// # Safety
    /// As of [`claim`].
    unsafe fn look(&mut self, env: usize, id: u64) -> Found {
        let Some(owner) = &mut self.owner else { return Found::Never };
        // SAFETY: by the caller's promise.
        let place = unsafe { owner.narrow(env, id) };
        self.asked = self.asked.saturating_add(1);
        let found = found(place.is_some(), owner.has_failed(), self.asked);
        // SAFETY: a place in each JavaThread, by where its JNIEnv lies; or nothing is looked at any
        // more.
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

/// What there is to say when so many virtual threads have been looked at.
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
