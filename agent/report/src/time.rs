//! Times in reports and profiles, rounded to microseconds.
//!
//! Absolute times must be rounded first and subtracted then. The errors of rounded differences
//! would add up to a drift.

/// Rounds nanoseconds to whole microseconds.
pub fn micros(nanos: u64) -> u64 {
    nanos.saturating_add(500) / 1000
}

/// Converts nanoseconds to milliseconds, rounded to the microsecond.
pub fn millis(nanos: u64) -> f64 {
    float(micros(nanos)) / 1000.0
}

/// Converts a number of sampling intervals to milliseconds.
pub(crate) fn intervals_ms(weight: u64, interval_ns: u64) -> f64 {
    millis(weight.saturating_mul(interval_ns))
}

/// Converts a count or a time to a float. It is only for values that people read, because large
/// numbers lose precision.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53: 104 days in ns, 285 years in µs")]
pub fn float(whole: u64) -> f64 {
    whole as f64
}
