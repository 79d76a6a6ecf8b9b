//! Decides when the next request may be sent. After each failure in a row the wait doubles.
//!
//! Waits are random in part, so that the senders of a fleet do not all return in one moment.

use std::time::{Duration, Instant};

/// The wait after the first failure, before its random part.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait, unless the Collector asks for a longer one.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// The longest wait that a Collector can ask for by `Retry-After`.
const MAX_ASKED_WAIT: Duration = Duration::from_hours(1);

/// The failures in a row, and the time of the next request.
#[derive(Debug)]
pub struct Pace {
    failures: u32,
    failing_since: Option<Instant>,
    next: Instant,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self { failures: 0, failing_since: None, next: now }
    }

    /// Returns the time until the next request may be sent.
    pub fn wait(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    /// Returns for how long requests will have failed when the next one is sent.
    pub fn failing_until_next(&self) -> Duration {
        self.failing_since.map_or(Duration::ZERO, |since| self.next.saturating_duration_since(since))
    }

    /// Notes a failure. `asked` is the wait that the Collector asked for, and `random` is from 0
    /// to 1.
    pub fn fail(&mut self, now: Instant, asked: Option<Duration>, random: f64) {
        self.failing_since.get_or_insert(now);
        let doubled = FIRST_WAIT.saturating_mul(1 << self.failures.min(16)).min(MAX_WAIT);
        self.failures += 1;
        let backoff = doubled.mul_f64(0.5 + random / 2.0);
        let asked = asked.unwrap_or_default().min(MAX_ASKED_WAIT).mul_f64(1.0 + random / 10.0);
        self.next = now + backoff.max(asked);
    }

    /// Notes that the Collector answered as it should. Returns how long it had not.
    pub fn succeed(&mut self, now: Instant) -> Option<Duration> {
        let since = self.failing_since.take();
        (self.failures, self.next) = (0, now);
        since.map(|since| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_are_random_by_half() {
        let now = Instant::now();
        let waits = |random: f64| {
            let mut pace = Pace::new(now);
            let waits = (0..9).map(|_| {
                pace.fail(now, None, random);
                pace.wait(now).as_secs_f64()
            });
            waits.collect::<Vec<_>>()
        };
        assert_eq!(waits(1.0), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        assert_eq!(waits(0.0), [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]);
    }

    #[test]
    fn the_collector_can_ask_for_a_longer_wait_but_not_for_ever() {
        let (now, mut pace) = (Instant::now(), Pace::new(Instant::now()));
        pace.fail(now, Some(Duration::from_secs(20)), 0.0);
        assert_eq!(pace.wait(now).as_secs(), 20);
        pace.fail(now, Some(Duration::MAX), 0.0);
        assert_eq!(pace.wait(now).as_secs(), 3600);
        let later = now + Duration::from_secs(90);
        assert_eq!(pace.succeed(later), Some(Duration::from_secs(90)));
        assert!(pace.wait(later).is_zero() && pace.succeed(later).is_none());
        pace.fail(later, None, 1.0);
        assert_eq!(pace.wait(later).as_secs(), 1);
    }
}
