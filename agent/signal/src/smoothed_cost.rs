//! How long a thing usually lasts that is done again and again.
//!
//! Once a machine holds up whatever it runs, and charges it for that: who went by that one time
//! would rest for hundreds of times as long.

use core::sync::atomic::{AtomicU64, Ordering};

/// What it has usually taken, by one thread's account.
#[derive(Debug, Default)]
pub struct Usual(AtomicU64);

impl Usual {
    /// How long a thing lasts that has just taken so much time: no longer than it usually does.
    pub fn lasting(&self, took: u64) -> u64 {
        // Only one thread comes here.
        let usual = self.0.load(Ordering::Relaxed).saturating_mul(3).saturating_add(took) / 4;
        self.0.store(usual, Ordering::Relaxed);
        took.min(usual)
    }

    /// Another one's time begins.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_long_once_is_not_taken_to_last_long() {
        let usual = Usual::default();
        for _ in 0..20 {
            usual.lasting(100);
        }
        assert!(usual.lasting(4_000) < 1_100);
        assert_eq!(usual.lasting(100), 100);
        for _ in 0..20 {
            usual.lasting(4_000);
        }
        assert!(usual.lasting(4_000) > 3_900);
    }
}
