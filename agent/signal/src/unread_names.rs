//! Virtual threads of which a handler could not read the name: when the agent is to be woken to ask
//! for it.
//!
//! The agent asks the JVM whom the carrier runs, and must be there before that changes: so it is
//! woken, but not for an id that has a name already, and not often.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many ids are kept, each at one place: a power of two. Ids are given in sequence, so that as
/// many of the latest fit.
const IDS: usize = 1 << 12;
/// The shortest time between two wakes, in nanoseconds.
const PAUSE: u64 = 2_000_000;

/// Ids with names, as far as there is room: one that was replaced is only asked for again.
#[derive(Debug)]
pub struct Unread {
    named: [AtomicU64; IDS],
    /// When the agent was woken last.
    woken: AtomicU64,
}

/// The one of the process.
pub static UNREAD: Unread = Unread::new();

impl Unread {
    #[allow(clippy::large_stack_arrays, reason = "it is made by the compiler, in a static")]
    const fn new() -> Self {
        Self { named: [const { AtomicU64::new(0) }; IDS], woken: AtomicU64::new(0) }
    }

    /// A recording begins, in which no id has a name.
    pub fn clear(&self) {
        self.named.iter().for_each(|id| id.store(0, Relaxed));
    }

    /// The recording has a name for this id.
    pub fn set_named(&self, id: u64) {
        if let Some(place) = self.place(id) {
            place.store(id, Relaxed);
        }
    }

    /// True if the agent is to be woken, at this time, for the name of this id.
    pub fn is_wanted(&self, id: u64, now: u64) -> bool {
        let is_named = self.place(id).is_some_and(|place| place.load(Relaxed) == id);
        let woken = self.woken.load(Relaxed);
        !is_named
            && now.saturating_sub(woken) >= PAUSE
            && self.woken.compare_exchange(woken, now, Relaxed, Relaxed).is_ok()
    }

    fn place(&self, id: u64) -> Option<&AtomicU64> {
        self.named.get(usize::try_from(id).ok()? & IDS.wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_woken_for_names_that_are_missing_and_not_often() {
        let unread = Unread::new();
        assert!(unread.is_wanted(31, 5 * PAUSE));
        assert!(!unread.is_wanted(32, 6 * PAUSE - 1), "it was woken just now");
        unread.set_named(31);
        assert!(!unread.is_wanted(31, 7 * PAUSE) && unread.is_wanted(32, 7 * PAUSE));
        unread.set_named(31 + IDS as u64);
        assert!(unread.is_wanted(31, 9 * PAUSE), "another id has its place");
        unread.clear();
        assert!(unread.is_wanted(31 + IDS as u64, 11 * PAUSE));
    }
}
