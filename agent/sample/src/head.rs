//! All of a sample but its walks.

/// Who was met, when, and what it stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    /// The thread's CPU clock, in nanoseconds.
    pub cpu: u64,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The agent's own number of the thread, never used twice; 0 if it knows none.
    pub serial: u32,
    /// How many intervals the sample stands for.
    pub weight: u32,
    /// What the handler took, in nanoseconds of CPU time.
    pub took: u32,
    /// The number of the context that the thread worked for, as the program has told; 0: none.
    pub context: u32,
    /// The id of the virtual thread that it carried; 0: none, [`Head::UNKNOWN`]: it may have, and
    /// nobody could tell.
    pub carried: u64,
    /// The trace that it worked in, as the program has told, or a tracer publishes: both halves of
    /// its id, and its span's; all zero: in none.
    pub trace: [u64; 3],
    /// The agent is to witness it.
    pub witnessed: bool,
}

impl Head {
    /// No thread's id.
    pub const UNKNOWN: u64 = u64::MAX;
}
