//! Counters: a figure as it was from time to time.
//!
//! A run may last for months: from some number on every second one is left out, and from then on
//! half as many are taken. The newest is always there: it is what the figure is in the end.

use crate::ids::{CounterId, Id};
use crate::markers::Unit;

/// So many are kept of a counter, or half as many.
const MOST: usize = 1 << 15;

/// A figure of the process.
#[derive(Debug)]
pub struct Counter {
    pub name: String,
    pub description: String,
    /// Bytes are what is used at a time; nanoseconds are what has been spent up to it.
    pub unit: Unit,
    /// When it was looked at, by CLOCK_MONOTONIC, and what it was.
    readings: Vec<(u64, u64)>,
    /// One of so many is kept.
    every: u32,
    /// How many have come since one was kept, of which the newest is there.
    passed: u32,
}

impl Counter {
    /// In the order of their times.
    pub fn readings(&self) -> &[(u64, u64)] {
        &self.readings
    }

    fn count(&mut self, time_ns: u64, value: u64) {
        // The last one was there because it was the newest.
        if self.passed > 0 {
            self.readings.pop();
        }
        self.passed += 1;
        if self.passed == self.every {
            self.passed = 0;
        }
        if self.readings.len() == MOST {
            let mut place = 0;
            self.readings.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
        self.readings.push((time_ns, value));
    }
}

/// All counters.
#[derive(Debug, Default)]
pub struct Counters(Vec<Counter>);

impl Counters {
    pub(crate) fn add(&mut self, name: &str, description: &str, unit: Unit) -> CounterId {
        let (name, description) = (name.to_owned(), description.to_owned());
        self.0.push(Counter { name, description, unit, readings: Vec::new(), every: 1, passed: 0 });
        CounterId::from_row(self.0.len() - 1)
    }

    pub(crate) fn count(&mut self, counter: CounterId, time_ns: u64, value: u64) {
        self.0[counter.row()].count(time_ns, value);
    }

    pub(crate) fn rows(&self) -> &[Counter] {
        &self.0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|counter| (counter.readings.capacity() * size_of::<(u64, u64)>()) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_fewer_of_them_and_all_of_its_time() {
        let mut counters = Counters::default();
        let counter = counters.add("Heap", "", Unit::Bytes);
        for time in 0..500_000 {
            counters.count(counter, time, time * 2);
            assert_eq!(counters.rows()[0].readings().last(), Some(&(time, time * 2)), "the newest is there");
        }
        let readings = counters.rows()[0].readings();
        assert!((MOST / 2..=MOST).contains(&readings.len()), "{} are kept", readings.len());
        assert!(readings[0].0 < 100 && readings[readings.len() - 1].0 > 499_900);
        assert!(readings.iter().all(|(time, value)| *value == time * 2));
        assert!(readings.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
