//! An event: something that happened meanwhile, to whomever.

/// How many figures an event can carry.
pub const VALUES: usize = 4;

/// Something that happened, and the figures that its kind gives a meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Of which kind: a number that those have agreed upon who publish it and who take it.
    pub kind: u64,
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub began: u64,
    /// The same as `began`, if it took no time.
    pub ended: u64,
    /// The kernel's id of the thread that it happened to, and the agent's number of it; 0: to all of the process.
    pub tid: u32,
    pub serial: u32,
    pub values: [u64; VALUES],
}
