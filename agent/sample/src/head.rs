//! Everything that a sample has besides its stacks.

/// The thread, time and weight of a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    /// The thread's CPU clock, in nanoseconds.
    pub cpu: u64,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The agent's own number of the thread, never used twice. It is 0 if the agent does not have
    /// the thread.
    pub serial: u32,
    /// How many intervals the sample stands for.
    pub weight: u32,
    /// The handler's CPU time, in nanoseconds.
    pub handler_ns: u32,
    /// The number of the context that the program has set, or 0.
    pub context: u32,
    /// The id of the mounted virtual thread, or 0 without one. It is [`Head::UNKNOWN_VTHREAD`] if
    /// there may be one whose id could not be read.
    pub mounted_vthread: u64,
    /// The trace that the program has set or a tracer has published: both halves of its id, and the
    /// id of its span. All zero means that there is none.
    pub trace: [u64; 3],
    /// True if the agent is to witness the sample.
    pub wants_witness: bool,
}

impl Head {
    /// The id of a virtual thread that could not be read. No thread has this id.
    pub const UNKNOWN_VTHREAD: u64 = u64::MAX;
}
