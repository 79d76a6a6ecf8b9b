//! Computes the smoothed cost of an operation that is repeated, such as a walk.
//!
//! A host may stop a virtual machine's thread once and charge it for that (steal time). One such
//! outlier must not make a thread rest hundreds of times longer.

use core::sync::atomic::{AtomicU64, Ordering};

/// An exponentially weighted moving average of an operation's cost. Only one thread may update it.
#[derive(Debug, Default)]
pub struct SmoothedCost(AtomicU64);

impl SmoothedCost {
    /// Adds the cost of an operation, and returns the smaller of this cost and the average.
    pub fn update(&self, took: u64) -> u64 {
        // Only one thread calls this, so a load and a store suffice.
        let average = self.0.load(Ordering::Relaxed).saturating_mul(3).saturating_add(took) / 4;
        self.0.store(average, Ordering::Relaxed);
        took.min(average)
    }

    /// Sets the average cost to 0, for another thread.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_hardly_changes_the_cost() {
        let cost = SmoothedCost::default();
        for _ in 0..20 {
            cost.update(100);
        }
        assert!(cost.update(4_000) < 1_100);
        assert_eq!(cost.update(100), 100);
        for _ in 0..20 {
            cost.update(4_000);
        }
        assert!(cost.update(4_000) > 3_900);
    }
}
