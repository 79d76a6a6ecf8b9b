//! The amounts of a track's threads, as the tables of measures other than CPU time list them.

use vouch_recording::{Amount, Measure, Thread};

/// Returns all amounts of a measure, in the order of time. Returns `None` without any.
pub fn amounts<'a>(threads: &[&'a Thread], measure: &Measure) -> Option<Vec<&'a Amount>> {
    let mut amounts: Vec<_> = threads.iter().flat_map(|thread| thread.amounts().get(measure)).collect();
    amounts.sort_by_key(|amount| amount.time_ns);
    (!amounts.is_empty()).then_some(amounts)
}
