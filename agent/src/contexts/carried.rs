//! The contexts of virtual threads: their table, and where this JVM tells whom a carrier carries.
//!
//! Where that is not certain no virtual thread has a context: its samples carry none, and it is counted. It must never be guessed.

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vouch_signal::virtuals::{Entry, VIRTUALS};

use crate::hotspot::owner::Owner;

/// So many virtual threads can be in a context at once, if they lie evenly: 2 MiB, of which only what is used is touched.
const ENTRIES: usize = 1 << 17;
/// So many virtual threads must have been found at the same place before it is believed,
const ENOUGH: u32 = 2;
/// and so many are looked at.
const LOOKED_AT: u32 = 1_000;

static TABLE: OnceCell<&'static [Entry]> = OnceCell::new();
static SEARCH: Mutex<Search> = Mutex::new(Search { owner: None, asked: 0 });

#[derive(Debug)]
struct Search {
    /// None: there is nothing to look for, or it is not where it was thought to be.
    owner: Option<Owner>,
    asked: u32,
}

/// There may be virtual threads in this JVM.
pub fn expect(owner: Option<Owner>) {
    SEARCH.lock().owner = owner;
}

/// The table, for the Java library; made when the first virtual thread comes.
pub fn table() -> &'static [Entry] {
    TABLE.get_or_init(|| {
        let table: &[Entry] = Vec::leak((0..ENTRIES).map(|_| Entry::default()).collect());
        VIRTUALS.begin(table);
        table
    })
}

/// Gives the virtual thread that the calling thread carries an entry of the table: how far in it that lies. `None`: it has none.
///
/// # Safety
/// `env` must be the calling thread's JNIEnv, and `id` the id of the virtual thread that runs on it.
pub unsafe fn claim(env: usize, id: u64) -> Option<usize> {
    table();
    // SAFETY: by the caller's promise.
    if unsafe { SEARCH.lock().knows(env, id) } { VIRTUALS.claim(id) } else { None }
}

impl Search {
    /// True if it is known where a JavaThread has whom it carries.
    ///
    /// # Safety
    /// As of [`claim`].
    unsafe fn knows(&mut self, env: usize, id: u64) -> bool {
        let Some(owner) = &mut self.owner else { return false };
        if self.asked >= LOOKED_AT {
            return true;
        }
        // SAFETY: by the caller's promise.
        let place = unsafe { owner.narrow(env, id) };
        self.asked += 1;
        match place {
            Some(place) if self.asked >= ENOUGH => {
                // SAFETY: a place in each JavaThread, by where its JNIEnv lies.
                unsafe { VIRTUALS.watch(place) };
                true
            }
            None if owner.is_nowhere() => {
                // SAFETY: nothing is looked at any more.
                unsafe { VIRTUALS.watch(0) };
                self.owner = None;
                false
            }
            _ => false,
        }
    }
}
