//! Times as reports and profiles tell them: exact to the microsecond.
//!
//! A time must be rounded as an absolute one, and differences taken between rounded times:
//! differences that are rounded themselves would add up to a drift.

/// Nanoseconds in whole microseconds.
pub fn micros(nanos: u64) -> u64 {
    nanos.saturating_add(500) / 1000
}

/// Nanoseconds in milliseconds, exact to the microsecond.
pub fn millis(nanos: u64) -> f64 {
    float(micros(nanos)) / 1000.0
}

/// So many intervals in milliseconds.
pub(crate) fn intervals_ms(weight: u64, interval_ns: u64) -> f64 {
    millis(weight.saturating_mul(interval_ns))
}

/// A count or a time for arithmetic that ends in something a person reads.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53: 104 days in ns, 285 years in µs")]
pub fn float(whole: u64) -> f64 {
    whole as f64
}
