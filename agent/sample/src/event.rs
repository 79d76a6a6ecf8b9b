//! An event: something other than a sample that the agent records with its time.

/// The maximal number of values of an event.
pub const MAX_VALUES: usize = 8;

/// Makes the values of an event from `first`, followed by zeros. Values after the first
/// [`MAX_VALUES`] are dropped.
#[must_use]
pub fn pad_values<const N: usize>(first: [u64; N]) -> [u64; MAX_VALUES] {
    let mut all = [0; MAX_VALUES];
    for (value, from) in all.iter_mut().zip(first) {
        *value = from;
    }
    all
}

/// An event with its time and thread. Its kind says what each of its values means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The number of the event's kind, on which its publisher and its reader agree.
    pub kind: u64,
    /// When the event began: CLOCK_MONOTONIC, in nanoseconds.
    pub began: u64,
    /// When the event ended: CLOCK_MONOTONIC, in nanoseconds. It is `began` for an instant event.
    pub ended: u64,
    /// The kernel's id of the event's thread, or 0 for an event of the whole process.
    pub tid: u32,
    /// The agent's own number of the event's thread, or 0 for an event of the whole process.
    pub serial: u32,
    /// The values of the event, in the order of the fields that its kind has, then zeros.
    pub values: [u64; MAX_VALUES],
}
