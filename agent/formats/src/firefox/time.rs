//! Times as the front-end reads them: milliseconds, exact to the microsecond.

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
