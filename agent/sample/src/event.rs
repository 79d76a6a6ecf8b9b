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

/// How much of a measure an event stands for, such as the time for which threads were blocked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// The amount, in the measure's unit. It is 0 if the event was not drawn for the measure.
    pub amount: u64,
    /// The number of events that it stands for.
    pub events: u64,
    /// True if the event is also shown as a marker.
    pub is_shown: bool,
}

/// The index of the first of the three values that hold a [`Measured`]. A measured event has at
/// most this many fields.
pub const MEASURED_INDEX: usize = MAX_VALUES - 3;

impl Measured {
    /// Writes this into the last values of an event.
    pub fn store(self, values: &mut [u64; MAX_VALUES]) {
        [values[MEASURED_INDEX], values[MEASURED_INDEX + 1], values[MEASURED_INDEX + 2]] =
            [self.amount, self.events, self.is_shown.into()];
    }

    /// Reads this from the last values of an event, and sets them to 0.
    #[must_use]
    pub fn take(values: &mut [u64; MAX_VALUES]) -> Self {
        let [amount, events, is_shown] =
            [0, 1, 2].map(|at| core::mem::take(&mut values[MEASURED_INDEX + at]));
        Self { amount, events, is_shown: is_shown != 0 }
    }
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
