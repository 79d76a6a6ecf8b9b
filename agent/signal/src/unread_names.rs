//! Decides when the handler wakes the agent to read a virtual thread's name that the handler could
//! not read.
//!
//! The agent asks the JVM for the thread that the carrier has mounted, so it must ask before
//! another thread is mounted. The handler does not wake it for an id that already has a name, and
//! not too often.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of thread ids that are kept. Ids are sequential and this is a power of two, so the
/// latest ids have different indices.
const MAX_IDS: usize = 1 << 12;
/// The shortest time between two wakes of the agent, in nanoseconds.
const MIN_WAKE_GAP_NS: u64 = 2_000_000;

/// The ids of virtual threads that have names. A newer id may replace an older one. That only
/// causes the older name to be requested again.
#[derive(Debug)]
pub struct UnreadNames {
    named: [AtomicU64; MAX_IDS],
    /// The time when the agent was last woken, in nanoseconds.
    woken: AtomicU64,
}

/// The ids of virtual threads that have names in this process.
pub static UNREAD_NAMES: UnreadNames = UnreadNames::new();

impl UnreadNames {
    #[allow(clippy::large_stack_arrays, reason = "it is made by the compiler, in a static")]
    const fn new() -> Self {
        Self { named: [const { AtomicU64::new(0) }; MAX_IDS], woken: AtomicU64::new(0) }
    }

    /// Forgets all ids. A recording calls this when it begins.
    pub fn clear(&self) {
        self.named.iter().for_each(|id| id.store(0, Relaxed));
    }

    /// Records that the recording has a name for the virtual thread with this id.
    pub fn set_named(&self, id: u64) {
        if let Some(entry) = self.entry(id) {
            entry.store(id, Relaxed);
        }
    }

    /// True if the handler has to wake the agent now for the name of this virtual thread.
    pub fn is_wanted(&self, id: u64, now: u64) -> bool {
        let is_named = self.entry(id).is_some_and(|entry| entry.load(Relaxed) == id);
        let woken = self.woken.load(Relaxed);
        !is_named
            && now.saturating_sub(woken) >= MIN_WAKE_GAP_NS
            && self.woken.compare_exchange(woken, now, Relaxed, Relaxed).is_ok()
    }

    fn entry(&self, id: u64) -> Option<&AtomicU64> {
        self.named.get(usize::try_from(id).ok()? & MAX_IDS.wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_woken_rarely_and_only_for_missing_names() {
        let names = UnreadNames::new();
        assert!(names.is_wanted(31, 5 * MIN_WAKE_GAP_NS));
        assert!(!names.is_wanted(32, 6 * MIN_WAKE_GAP_NS - 1), "it was woken just now");
        names.set_named(31);
        assert!(!names.is_wanted(31, 7 * MIN_WAKE_GAP_NS) && names.is_wanted(32, 7 * MIN_WAKE_GAP_NS));
        names.set_named(31 + MAX_IDS as u64);
        assert!(names.is_wanted(31, 9 * MIN_WAKE_GAP_NS), "another id has its entry");
        names.clear();
        assert!(names.is_wanted(31 + MAX_IDS as u64, 11 * MIN_WAKE_GAP_NS));
    }
}
