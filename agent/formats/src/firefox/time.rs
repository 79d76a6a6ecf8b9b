//! Times as the front-end reads them: milliseconds, exact to the microsecond. And when a marker of
//! samples begins and ends.

use serde::{Serialize, Serializer};
use vouch_report::{float, micros};

/// A time or a duration, in whole microseconds, written in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Micros {
    pub fn from_nanos(nanos: u64) -> Self {
        Self(micros(nanos))
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1000) {
            serializer.serialize_u64(self.0 / 1000)
        } else {
            serializer.serialize_f64(float(self.0) / 1000.0)
        }
    }
}

/// When a marker begins that is to hold a sample: with what the sample stands for, but not before a
/// time that is free. It must not reach to the sample before, nor stop short of its own.
pub fn began_ns(time_ns: u64, weight: u32, interval_ns: u64, free_ns: u64) -> u64 {
    time_ns.saturating_sub(interval_ns.saturating_mul(weight.into())).max(free_ns).min(time_ns)
}

/// When a marker ends whose last sample was at this time, and the next one may begin: the front-end
/// has only what lies before an end, and times are told in microseconds.
pub fn ended_ns(time_ns: u64) -> u64 {
    time_ns.saturating_add(1_000)
}
