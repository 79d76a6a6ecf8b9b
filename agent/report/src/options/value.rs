//! Parses the values of options: durations, sizes, rates, numbers within limits, and words.

use std::time::Duration;

use crate::error::Error;

/// The form in which an option's value is written. The limits are written in the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text. Only the agent can check it.
    Text,
    Length {
        least: &'static str,
        most: &'static str,
    },
    /// A length of time, or one of these words.
    LengthOr {
        words: &'static [&'static str],
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
    /// A rate such as `10/s`, or one of these words.
    Rate {
        words: &'static [&'static str],
    },
    /// One of a few words. The help and the errors never list the words for tests, and only the
    /// library for tests accepts them.
    OneOf {
        words: &'static [&'static str],
        for_tests: &'static [&'static str],
    },
}

impl Form {
    /// Checks that a value has this form. The error says what is wrong with it.
    pub fn check(self, text: &str) -> Result<(), Error> {
        match self {
            Self::Text => Ok(()),
            Self::Length { .. } => self.length(text).map(drop),
            Self::LengthOr { words, .. } if words.contains(&text) => Ok(()),
            Self::LengthOr { words, .. } => self
                .length(text)
                .map(drop)
                .map_err(|why| Error::NoLengthOrWord { words: words.join(" or "), why: Box::new(why) }),
            Self::Size { .. } => self.size(text).map(drop),
            Self::Count { .. } => self.count(text).map(drop),
            Self::Rate { words } if words.contains(&text) => Ok(()),
            Self::Rate { .. } => rate(text).map(drop),
            Self::OneOf { words, .. } if words.contains(&text) || self.is_for_tests(text) => Ok(()),
            Self::OneOf { words, .. } => Err(Error::UnknownWord(words.to_vec())),
        }
    }

    /// Returns true if this value is only for tests.
    pub fn is_for_tests(self, text: &str) -> bool {
        matches!(self, Self::OneOf { for_tests, .. } if for_tests.contains(&text))
    }

    /// Parses a duration, and checks it against the limits of this form.
    pub fn length(self, text: &str) -> Result<Duration, Error> {
        match self {
            Self::Length { least, most } | Self::LengthOr { least, most, .. } => length(text, least, most),
            _ => Err(Error::TakesNoLength),
        }
    }

    /// Parses a number of bytes, and checks it against the limits of this form.
    pub fn size(self, text: &str) -> Result<u64, Error> {
        let Self::Size { least, most } = self else { return Err(Error::TakesNoSize) };
        size(text, least, most)
    }

    /// Parses a number, and checks it against the limits of this form.
    pub fn count(self, text: &str) -> Result<usize, Error> {
        let Self::Count { least, most } = self else { return Err(Error::TakesNoNumber) };
        count(text, least, most)
    }
}

/// The units of durations, in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Parses a whole number with a unit as a duration. Both limits are written in the same way.
fn length(text: &str, least: &'static str, most: &'static str) -> Result<Duration, Error> {
    let outside = || Error::OutOfRange { least, most };
    let nanos = nanos(text)?.ok_or_else(outside)?;
    let limit = |text| self::nanos(text).ok().flatten().unwrap_or(0);
    if nanos < limit(least) || nanos > limit(most) {
        return Err(outside());
    }
    Ok(Duration::from_nanos(nanos))
}

/// Parses a duration into nanoseconds. Returns `None` if it is too large for any limit.
fn nanos(text: &str) -> Result<Option<u64>, Error> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    match (number.is_empty(), unit.is_empty(), factor) {
        (false, _, Some(factor)) => {
            Ok(number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)))
        }
        (false, true, None) => Err(Error::UnitMissing(text.to_owned())),
        _ => Err(Error::NotALength),
    }
}

/// The units of sizes, in bytes.
const SIZES: [(&str, u64); 3] = [("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)];

/// Parses a size such as `64MB` into bytes. Both limits are written in the same way.
fn size(text: &str, least: &'static str, most: &'static str) -> Result<u64, Error> {
    let bytes = bytes(text).ok_or(Error::NotASize)?;
    let limit = |text| self::bytes(text).unwrap_or(0);
    if (limit(least)..=limit(most)).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(Error::OutOfRange { least, most })
    }
}

/// Parses a size into bytes. Returns `None` if the text is not a size.
fn bytes(text: &str) -> Option<u64> {
    let (number, factor) =
        SIZES.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    // A number that overflows is larger than any limit, so it saturates.
    is_number.then(|| {
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)).unwrap_or(u64::MAX)
    })
}

/// Parses a rate such as `10/s`, and returns the time between two events of that rate.
pub fn rate(text: &str) -> Result<Duration, Error> {
    let number = text.strip_suffix("/s").and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(number @ 1..=1_000) => Ok(Duration::from_secs(1) / number),
        _ => Err(Error::NotARate),
    }
}

/// Parses a whole number, and checks that it is between two limits.
pub fn count(text: &str, least: usize, most: usize) -> Result<usize, Error> {
    match text.parse::<usize>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(Error::NotACount { least, most }),
    }
}

/// Returns the value of the word in `known` that equals the text.
pub fn choice<T: Copy>(text: &str, known: &[(&'static str, T)]) -> Result<T, Error> {
    known
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::UnknownWord(known.iter().map(|(word, _)| *word).collect()))
}
