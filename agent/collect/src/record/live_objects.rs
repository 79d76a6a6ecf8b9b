//! Tracks sampled objects by weak references, to find those that survive collections.
//!
//! Memory and the collector's work have a limit. If too many objects are alive, a half of them is
//! let go at random, and each of the others stands for twice as much.

use vouch_recording::{Amount, ThreadId};
use vouch_report::LiveObjectsReport;

use crate::jvm::Jvm;
use crate::weak_object::WeakObject;

/// The maximum number of tracked objects.
const MAX_TRACKED: usize = 16_384;

/// A sampled object, and what it stands for.
#[derive(Debug)]
pub struct TrackedObject {
    pub object: WeakObject,
    /// The number of collections before the object was allocated.
    pub collections: u64,
    pub thread: ThreadId,
    pub amount: Amount,
}

#[derive(Debug, Default)]
pub struct LiveObjects {
    all: Vec<TrackedObject>,
    /// How often a half of the objects was let go. Of new objects, one in 2 to this power is
    /// tracked.
    halvings: u32,
    tracked: u64,
    let_go: u64,
}

impl LiveObjects {
    /// Tracks an object from now on.
    pub fn track(&mut self, mut tracked: TrackedObject, jvm: &mut dyn Jvm) {
        self.tracked += 1;
        if !is_kept(self.tracked, self.halvings) {
            self.let_go += 1;
            jvm.forget(tracked.object);
            return;
        }
        tracked.amount.amount = tracked.amount.amount.saturating_mul(1 << self.halvings);
        tracked.amount.events = tracked.amount.events.saturating_mul(1 << self.halvings);
        self.all.push(tracked);
        if self.all.len() >= MAX_TRACKED {
            self.forget_dead(jvm);
            // If it is nearly full after that, it would soon be searched again.
            if self.all.len() > MAX_TRACKED / 2 {
                self.halve(jvm);
            }
        }
    }

    fn forget_dead(&mut self, jvm: &mut dyn Jvm) {
        self.all.retain(|tracked| {
            let is_alive = jvm.is_alive(tracked.object);
            if !is_alive {
                jvm.forget(tracked.object);
            }
            is_alive
        });
    }

    /// Lets go a half of the objects. The others stand for them.
    fn halve(&mut self, jvm: &mut dyn Jvm) {
        // More would make an amount of a large object meaningless.
        self.halvings = (self.halvings + 1).min(32);
        let mut number = self.tracked;
        let mut let_go = 0;
        self.all.retain_mut(|tracked| {
            number += 1;
            let is_kept = is_kept(number, 1);
            if is_kept {
                tracked.amount.amount = tracked.amount.amount.saturating_mul(2);
                tracked.amount.events = tracked.amount.events.saturating_mul(2);
            } else {
                let_go += 1;
                jvm.forget(tracked.object);
            }
            is_kept
        });
        self.let_go += let_go;
    }

    /// Returns the objects that are alive and have survived a collection. `collections` is the
    /// number of collections so far.
    pub fn survivors(&mut self, collections: u64, jvm: &mut dyn Jvm) -> Vec<(ThreadId, Amount)> {
        self.forget_dead(jvm);
        let old = self.all.iter().filter(|tracked| tracked.collections < collections);
        old.map(|tracked| (tracked.thread, tracked.amount)).collect()
    }

    /// Forgets all objects, at the end of a recording.
    pub fn clear(&mut self, jvm: &mut dyn Jvm) {
        self.all.drain(..).for_each(|tracked| jvm.forget(tracked.object));
    }

    /// Returns the counters for the report, or `None` if no object was sampled.
    pub fn report(&self, collections: u64) -> Option<LiveObjectsReport> {
        (self.tracked > 0).then_some(LiveObjectsReport {
            tracked: self.tracked,
            let_go: self.let_go,
            alive: self.all.len() as u64,
            collections,
        })
    }
}

/// Draws one in 2 to the power of `halvings`, at random by a number.
fn is_kept(number: u64, halvings: u32) -> bool {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 16).is_multiple_of(1 << halvings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::fake::FakeJvm;
    use vouch_recording::{Id, StackId};

    fn tracked(object: u64, collections: u64) -> TrackedObject {
        let stack = StackId::from_row(0);
        let amount = Amount { time_ns: object, stack, amount: 1_000, events: 2, context: None };
        TrackedObject { object: WeakObject(object), collections, thread: ThreadId::from_row(0), amount }
    }

    #[test]
    fn only_those_that_survived_a_collection_are_alive() {
        let (mut live, mut jvm) = (LiveObjects::default(), FakeJvm::default());
        for (object, collections) in [(1, 0), (2, 0), (3, 4)] {
            live.track(tracked(object, collections), &mut jvm);
        }
        jvm.dead.insert(2);
        let survivors = live.survivors(4, &mut jvm);
        assert_eq!(survivors.iter().map(|(_, amount)| amount.time_ns).collect::<Vec<_>>(), [1]);
        assert_eq!(jvm.forgotten, [2]);
        let report = live.report(4).unwrap();
        assert_eq!((report.tracked, report.alive, report.let_go), (3, 2, 0));
        live.clear(&mut jvm);
        assert_eq!(jvm.forgotten, [2, 1, 3]);
    }

    #[test]
    fn with_too_many_alive_a_part_stands_for_all() {
        let (mut live, mut jvm) = (LiveObjects::default(), FakeJvm::default());
        let count = 100_000;
        for object in 0..count {
            live.track(tracked(object, 0), &mut jvm);
        }
        assert!(live.all.len() < MAX_TRACKED && live.all.len() > MAX_TRACKED / 4, "{}", live.all.len());
        let bytes: u64 = live.survivors(1, &mut jvm).iter().map(|(_, amount)| amount.amount).sum();
        let exact = count * 1_000;
        assert!(bytes.abs_diff(exact) * 20 < exact, "{bytes} of {exact}");
        let forgotten = jvm.forgotten.len() as u64;
        assert_eq!((live.let_go, forgotten + live.all.len() as u64), (forgotten, count));
    }
}
