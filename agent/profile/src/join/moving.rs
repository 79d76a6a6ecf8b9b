//! What changes on the way from a profile to that of all.

use std::collections::HashMap;

use crate::join::schemas::Kind;
use crate::join::tables::Moved;

/// What changes on the way from a profile to that of all.
pub struct Moving<'a> {
    pub shift_ms: f64,
    /// How many common intervals one of the profile's intervals is.
    pub weight: u64,
    pub interval_ms: f64,
    pub moved: &'a Moved,
    pub contexts: &'a [usize],
    pub kinds: &'a HashMap<String, Kind>,
    /// A refutation's number.
    pub number: &'a mut dyn FnMut(usize) -> usize,
}
