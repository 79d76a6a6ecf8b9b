//! Times in the file, in milliseconds with a precision of a microsecond, and the beginning and end
//! of markers that cover samples.

use serde::{Serialize, Serializer};
use vouch_report::{float, micros};

/// A time or a duration in whole microseconds. It is written in milliseconds.
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

/// Returns the beginning of a marker that covers a sample. It is the beginning of the sample's
/// intervals, but at least `free_ns`. The marker must contain its own sample and not the previous
/// one.
pub fn began_ns(time_ns: u64, weight: u32, interval_ns: u64, free_ns: u64) -> u64 {
    time_ns.saturating_sub(interval_ns.saturating_mul(weight.into())).max(free_ns).min(time_ns)
}

/// Returns the end of a marker after its last sample, which is also the earliest beginning of the
/// next marker. It is a microsecond after the sample, since the front-end excludes a marker's end.
pub fn ended_ns(time_ns: u64) -> u64 {
    time_ns.saturating_add(1_000)
}
