//! Counters: values of the process, such as its heap size, that are read from time to time.
//!
//! A run may last for months. So when a counter has [`MAX_READINGS`], every second reading is
//! removed, and from then on half as many are kept. The newest reading is always kept.

use crate::ids::{CounterId, Id};
use crate::markers::Unit;

/// The maximal number of readings that a counter keeps. At this number every second one is removed.
const MAX_READINGS: usize = 1 << 15;

/// A value of the process, such as its heap size, with its readings over time.
#[derive(Debug)]
pub struct Counter {
    pub name: String,
    pub description: String,
    /// The unit of the value. A value in bytes is in use at the time of a reading. A value in
    /// nanoseconds was spent up to it.
    pub unit: Unit,
    /// The readings: times by CLOCK_MONOTONIC in nanoseconds, each with the value.
    readings: Vec<(u64, u64)>,
    /// One reading in this number is kept.
    every: u32,
    /// The number of readings after the last one that is kept for good. The newest of them is the
    /// last in `readings`, until the next one replaces it.
    passed: u32,
}

impl Counter {
    /// Returns the times and values of the readings, in the order of time.
    pub fn readings(&self) -> &[(u64, u64)] {
        &self.readings
    }

    fn count(&mut self, time_ns: u64, value: u64) {
        // The last reading was only kept while it was the newest.
        if self.passed > 0 {
            self.readings.pop();
        }
        self.passed += 1;
        if self.passed == self.every {
            self.passed = 0;
        }
        if self.readings.len() == MAX_READINGS {
            let mut number = 0;
            self.readings.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
        self.readings.push((time_ns, value));
    }
}

/// The counters of the process.
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
    fn a_long_run_has_fewer_readings_over_its_whole_time() {
        let mut counters = Counters::default();
        let counter = counters.add("Heap", "", Unit::Bytes);
        for time in 0..500_000 {
            counters.count(counter, time, time * 2);
            assert_eq!(counters.rows()[0].readings().last(), Some(&(time, time * 2)), "the newest is there");
        }
        let readings = counters.rows()[0].readings();
        assert!((MAX_READINGS / 2..=MAX_READINGS).contains(&readings.len()), "{} are kept", readings.len());
        assert!(readings[0].0 < 100 && readings[readings.len() - 1].0 > 499_900);
        assert!(readings.iter().all(|(time, value)| *value == time * 2));
        assert!(readings.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
