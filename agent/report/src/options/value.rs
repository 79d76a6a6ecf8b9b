//! How a value is read: a length of time with its unit, a rate, a count within limits, one of a few
//! words.

use std::time::Duration;

/// How the value of an option is written. Limits are written as values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text: the agent alone can say what is wrong with it.
    Text,
    Length {
        least: &'static str,
        most: &'static str,
    },
    Size {
        least: &'static str,
        most: &'static str,
    },
    Count {
        least: usize,
        most: usize,
    },
    /// A rate, or one of these words.
    Rate {
        words: &'static [&'static str],
    },
    /// One of these words. Those for tests are never offered.
    OneOf {
        words: &'static [&'static str],
        for_tests: &'static [&'static str],
    },
}

impl Form {
    /// Checks a value; what is wrong with it.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text => Ok(()),
            Self::Length { .. } => self.length(text).map(drop),
            Self::Size { .. } => self.size(text).map(drop),
            Self::Count { .. } => self.count(text).map(drop),
            Self::Rate { words } if words.contains(&text) => Ok(()),
            Self::Rate { .. } => rate(text).map(drop),
            Self::OneOf { words, for_tests } if words.contains(&text) || for_tests.contains(&text) => Ok(()),
            Self::OneOf { words, .. } => Err(format!("must be one of {}", words.join(", "))),
        }
    }

    /// Reads a length of time.
    pub fn length(self, text: &str) -> Result<Duration, String> {
        let Self::Length { least, most } = self else { return Err("takes no length of time".to_owned()) };
        length(text, least, most)
    }

    /// Reads a number of bytes.
    pub fn size(self, text: &str) -> Result<u64, String> {
        let Self::Size { least, most } = self else { return Err("takes no size".to_owned()) };
        size(text, least, most)
    }

    /// Reads a number.
    pub fn count(self, text: &str) -> Result<usize, String> {
        let Self::Count { least, most } = self else { return Err("takes no number".to_owned()) };
        count(text, least, most)
    }
}

/// The units that a length of time may have; the longer endings first.
const UNITS: [(&str, u64); 6] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// A whole number with a unit, between two limits that are written the same way.
fn length(text: &str, least: &str, most: &str) -> Result<Duration, String> {
    let outside = || format!("must lie between {least} and {most}");
    let nanos = nanos(text)?.ok_or_else(outside)?;
    let limit = |text| self::nanos(text).ok().flatten().unwrap_or(0);
    if nanos < limit(least) || nanos > limit(most) {
        return Err(outside());
    }
    Ok(Duration::from_nanos(nanos))
}

/// `None`: too large for any limit.
fn nanos(text: &str) -> Result<Option<u64>, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    match (number.is_empty(), unit.is_empty(), factor) {
        (false, _, Some(factor)) => {
            Ok(number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)))
        }
        (false, true, None) => Err(format!("the unit is missing, as in {text}ms or {text}s")),
        _ => Err("not a length of time: a whole number with us, ms or s, as in 10ms".to_owned()),
    }
}

/// The units that a size may have.
const SIZES: [(&str, u64); 3] = [("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)];

/// Parses a size, as `64MB`, into bytes. Both limits are written in the same way.
fn size(text: &str, least: &str, most: &str) -> Result<u64, String> {
    let bytes = bytes(text).ok_or("not a size: a whole number with KB, MB or GB, as in 64MB")?;
    let limit = |text| self::bytes(text).unwrap_or(0);
    if (limit(least)..=limit(most)).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("must lie between {least} and {most}"))
    }
}

/// `None`: it is no size.
fn bytes(text: &str) -> Option<u64> {
    let (number, factor) =
        SIZES.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    // Too large for any limit is too large for this one.
    is_number.then(|| {
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)).unwrap_or(u64::MAX)
    })
}

/// A rate, as in `10/s`, as the time between two.
pub fn rate(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix("/s").and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(number @ 1..=1_000) => Ok(Duration::from_secs(1) / number),
        _ => Err("must be off, sparing, or a rate from 1/s to 1000/s".to_owned()),
    }
}

/// A whole number between two limits.
pub fn count(text: &str, least: usize, most: usize) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {least} to {most}")),
    }
}

/// One of a few words.
pub fn choice<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<T, String> {
    known.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        format!("must be one of {}", words.join(", "))
    })
}
