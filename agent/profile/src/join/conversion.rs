//! The context for converting one profile's values to the joined profile.

use std::collections::HashMap;

use crate::join::schemas::MarkerKind;
use crate::join::tables::RowMap;

/// Converts one profile's values to the joined profile.
pub struct Conversion<'a> {
    /// The milliseconds to add to each time.
    pub shift_ms: f64,
    /// The profile's interval as a multiple of the common interval.
    pub weight: u64,
    /// The common interval.
    pub interval_ms: f64,
    /// The new rows of the shared tables.
    pub row_map: &'a RowMap,
    /// The new row of each context.
    pub contexts: &'a [usize],
    /// The new kinds of markers, by their old names.
    pub kinds: &'a HashMap<String, MarkerKind>,
    /// Returns the new number of a refutation.
    pub number: &'a mut dyn FnMut(usize) -> usize,
}
