/// The intervals of a thread for which it got no signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsignalled {
    pub tid: u32,
    pub serial: u32,
    /// The number of intervals for which the thread got no signal.
    pub weight: u32,
    /// The time up to which the intervals were due, by CLOCK_MONOTONIC in nanoseconds.
    pub time: u64,
    /// The reading of the thread's CPU clock up to which the intervals were due, in nanoseconds.
    pub cpu: u64,
    pub is_java: bool,
}
