//! An event: something that happened meanwhile, to whomever.

/// How many figures an event can carry.
pub const VALUES: usize = 8;

/// These figures, and nothing where an event could carry more. What an event has no room for is
/// left out.
#[must_use]
pub fn values<const N: usize>(first: [u64; N]) -> [u64; VALUES] {
    let mut all = [0; VALUES];
    for (value, given) in all.iter_mut().zip(first) {
        *value = given;
    }
    all
}

/// Something that happened, and the figures that its kind gives a meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Of which kind: a number that those have agreed upon who publish it and who take it.
    pub kind: u64,
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub began: u64,
    /// The same as `began`, if it took no time.
    pub ended: u64,
    /// The kernel's id of the thread that it happened to, and the agent's number of it; 0: to all
    /// of the process.
    pub tid: u32,
    pub serial: u32,
    pub values: [u64; VALUES],
}
