//! Describes what the weights of a profile's samples count, and formats such weights.

use std::borrow::Cow;

use vouch_report::{bytes, float, grouped};

/// The unit of a weight of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    Millis(f64),
    Bytes,
    /// A number of events, which a sample may stand for several of.
    Events,
    /// One sample, for profiles without a unit.
    One,
}

impl Unit {
    /// Returns the name of the unit in a picture, and the amount of it that a weight of 1 is.
    pub fn in_pictures(self) -> (&'static str, f64) {
        match self {
            Self::Millis(each) => ("ms", each),
            Self::Bytes => ("bytes", 1.0),
            Self::Events => ("events", 1.0),
            Self::One => ("samples", 1.0),
        }
    }
}

/// What the weights of a profile's samples count.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The name of what is counted, such as "CPU time".
    pub what: Cow<'static, str>,
    pub unit: Unit,
}

impl Counted {
    pub const ALLOCATED: Self = Self { what: Cow::Borrowed("allocated bytes"), unit: Unit::Bytes };
    pub const LIVE: Self = Self { what: Cow::Borrowed("live bytes"), unit: Unit::Bytes };
    pub const WALL_CLOCK: Self = Self { what: Cow::Borrowed("wall-clock time"), unit: Unit::Millis(1e-6) };

    pub const BLOCKED: Self = Self { what: Cow::Borrowed("time blocked on locks"), unit: Unit::Millis(1e-6) };
    pub const WAITS_FOR_LOCKS: Self = Self { what: Cow::Borrowed("waits for locks"), unit: Unit::Events };

    pub const EXCEPTIONS: Self = Self { what: Cow::Borrowed("exceptions"), unit: Unit::Events };

    /// True if chance decides what is sampled. Waits are measured, so their shares are exact.
    pub fn is_by_chance(&self) -> bool {
        *self != Self::WALL_CLOCK
    }

    pub fn is_time(&self) -> bool {
        self.each_ms().is_some()
    }

    /// Returns the milliseconds that a weight of 1 stands for, or `None` if weights count no time.
    pub fn each_ms(&self) -> Option<f64> {
        if let Unit::Millis(each) = self.unit { Some(each) } else { None }
    }

    /// Converts a weight to the unit of [`Self::key`]. Returns `None` if samples have no unit.
    pub fn value(&self, weight: u64) -> Option<f64> {
        match self.unit {
            Unit::Millis(each) => Some(float(weight) * each),
            Unit::Bytes | Unit::Events => Some(float(weight)),
            Unit::One => None,
        }
    }

    /// Returns the name of the unit in JSON.
    pub fn key(&self) -> &'static str {
        match self.unit {
            Unit::Bytes => "bytes",
            Unit::Events => "events",
            Unit::Millis(_) | Unit::One => "ms",
        }
    }

    /// Formats a weight with its unit.
    pub fn amount(&self, weight: u64) -> String {
        match self.unit {
            Unit::Millis(each) => format!("{:.1} ms", float(weight) * each),
            Unit::Bytes => bytes(weight),
            Unit::Events | Unit::One => grouped(weight),
        }
    }

    /// Formats the total weight of all samples.
    pub fn total(&self, weight: u64, samples: u64) -> String {
        let (what, number) = (&self.what, grouped(samples));
        match self.unit {
            Unit::Millis(_) => format!("{} of {what} in {number} samples", self.amount(weight)),
            Unit::Bytes if *self == Self::LIVE => {
                format!("{} of live objects in {number} samples", bytes(weight))
            }
            Unit::Bytes => format!("{} of allocated objects in {number} samples", bytes(weight)),
            Unit::Events => format!("{} {what} in {number} samples", grouped(weight)),
            Unit::One => format!("{number} {what}, and of no time"),
        }
    }
}
