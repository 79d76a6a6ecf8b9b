//! The context for converting one profile's values to the joined profile.

use std::collections::HashMap;

use crate::join::schemas::MarkerKind;
use crate::join::tables::RowMap;

/// Converts one profile's values to the joined profile.
pub struct Conversion<'a> {
    /// The milliseconds to add to each of the profile's times.
    pub shift_ms: f64,
    /// The profile's sampling interval as a multiple of the common interval.
    pub weight: u64,
    /// The sampling interval of the joined profile, in milliseconds.
    pub interval_ms: f64,
    /// The rows of the joined tables for the rows of the profile's tables.
    pub row_map: &'a RowMap,
    /// The row in the joined table of each of the profile's contexts.
    pub contexts: &'a [usize],
    /// The kinds of markers in the joined profile, by their names in this profile.
    pub kinds: &'a HashMap<String, MarkerKind>,
    /// Returns the number in the joined profile for a number of a refutation in this one.
    pub number: &'a mut dyn FnMut(usize) -> usize,
}
