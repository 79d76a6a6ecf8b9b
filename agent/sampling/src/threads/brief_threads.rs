//! Decides whether a thread that starts gets a timer instead of a perf event at first.
//!
//! To open a perf event, and to set its period at each switch, costs a thread some 100 µs. A thread
//! that ends before the floor of [`vouch_signal::phase`] has no signal of its event. In a program
//! with only such threads the events would cost time and show nothing. A timer costs a tenth, and
//! its due times are the same.

use vouch_signal::phase::floor;

/// How many ended threads must be seen before the rule applies.
const MIN_ENDED: u32 = 64;
/// The sums forget one part in this many with each thread that ends.
const MEMORY: u64 = 64;
/// A thread counts with at most this CPU time, in nanoseconds, so that one does not count for long.
const MAX_CPU: u64 = 8_000_000;
/// Threads that reach the floor may have one part in this many of the time.
const SHARE: u64 = 10;
/// A thread has outlived its first timer after this many floors of CPU time.
const GROWN_FLOORS: u64 = 4;

/// The threads that ended lately, and the live ones that began with a timer.
#[derive(Debug, Default)]
pub struct BriefThreads {
    ended: u32,
    /// The CPU time of threads that ended lately, and of those among them that ended before the
    /// floor.
    all: u64,
    brief: u64,
    /// The ids and serials of threads that have a timer for a perf event.
    pub waiting: Vec<(u32, u32)>,
    /// How many threads of the recording began with a timer.
    pub begun: u64,
}

impl BriefThreads {
    /// Notes that a thread ended after `cpu` nanoseconds of CPU time.
    pub fn ended(&mut self, cpu: u64, interval: u64) {
        let cpu = cpu.min(MAX_CPU);
        self.ended = self.ended.saturating_add(1);
        self.all = self.all - self.all / MEMORY + cpu;
        self.brief -= self.brief / MEMORY;
        if cpu < floor(interval) {
            self.brief += cpu;
        }
    }

    /// Returns true if threads end before a perf event could signal them, all but few.
    pub fn are_usual(&self) -> bool {
        self.ended >= MIN_ENDED && (self.all - self.brief.min(self.all)) * SHARE < self.all
    }

    /// Notes that a thread has begun with a timer.
    pub fn add(&mut self, tid: u32, serial: u32) {
        self.begun += 1;
        self.waiting.push((tid, serial));
    }
}

/// Returns true once a thread has used so much CPU time since its start that it is worth a perf
/// event.
pub fn is_grown(started: u64, cpu: u64, interval: u64) -> bool {
    cpu.saturating_sub(started) >= floor(interval) * GROWN_FLOORS
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u64 = 1_000_000;

    fn after(threads: impl IntoIterator<Item = u64>) -> BriefThreads {
        let mut brief = BriefThreads::default();
        threads.into_iter().for_each(|cpu| brief.ended(cpu, INTERVAL));
        brief
    }

    #[test]
    fn threads_that_end_before_the_floor_are_usual_after_some_of_them() {
        assert!(!after([70_000; 63]).are_usual(), "too few have ended");
        assert!(after([70_000; 64]).are_usual());
        assert!(!after([300_000; 1_000]).are_usual(), "an event would signal these threads");
    }

    #[test]
    fn longer_threads_end_the_rule_once_they_have_a_tenth_of_the_time() {
        let mix = |every: u64| after((0..2_000).map(|i| if i % every == 0 { 2_000_000 } else { 70_000 }));
        assert!(mix(500).are_usual());
        assert!(!mix(50).are_usual());
        let mut brief = after([70_000; 1_000]);
        brief.ended(20_000_000_000, INTERVAL);
        assert!(!brief.are_usual(), "the one long thread");
        (0..400).for_each(|_| brief.ended(70_000, INTERVAL));
        assert!(brief.are_usual(), "one long thread counts for a while only");
    }

    #[test]
    fn a_thread_outlives_its_timer_after_four_floors() {
        assert!(!is_grown(5_000_000, 5_999_999, INTERVAL));
        assert!(is_grown(5_000_000, 6_000_000, INTERVAL));
    }
}
