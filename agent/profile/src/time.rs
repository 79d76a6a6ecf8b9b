//! Times as the outputs write them: milliseconds, exact to the microsecond.
//!
//! A time must be rounded as an absolute one, and differences taken between rounded times: differences that
//! are rounded themselves would add up to a drift.

use serde::{Serialize, Serializer};

/// A time or a duration, in whole microseconds, written in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Micros(pub(crate) u64);

impl Micros {
    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_add(500) / 1000)
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

/// Nanoseconds in milliseconds, exact to the microsecond.
pub(crate) fn millis(nanos: u64) -> f64 {
    float(Micros::from_nanos(nanos).0) / 1000.0
}

/// A count or a time for arithmetic that ends in something a person reads.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53: 104 days in ns, 285 years in µs")]
pub(crate) fn float(whole: u64) -> f64 {
    whole as f64
}
