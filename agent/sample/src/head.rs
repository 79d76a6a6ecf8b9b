//! The head of a sample: the part without its stacks.

/// The thread, time, weight and context of a sample: everything except its stacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// When the sample was taken: CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    /// The reading of the thread's CPU clock at the sample, in nanoseconds.
    pub cpu: u64,
    /// The kernel's id of the sampled thread.
    pub tid: u32,
    /// The agent's own number of the sampled thread, never used twice. It is 0 if the agent has no
    /// record of the thread.
    pub serial: u32,
    /// The number of intervals that the sample counts for.
    pub weight: u32,
    /// The CPU time that the handler took for the sample, in nanoseconds.
    pub handler_ns: u32,
    /// The number of the context that the program has set for the thread, or 0.
    pub context: u32,
    /// The id of the mounted virtual thread, or 0 if none is mounted. It is
    /// [`Head::UNKNOWN_VTHREAD`] if one may be mounted and its id could not be read.
    pub mounted_vthread: u64,
    /// The trace that the program has set or a tracer has published: both halves of the trace id,
    /// then the span id. All are 0 without a trace.
    pub trace: [u64; 3],
    /// True if the handler asked the agent to compare this sample with GetStackTrace.
    pub wants_witness: bool,
}

impl Head {
    /// The id that means that a virtual thread's id could not be read. No thread has this id.
    pub const UNKNOWN_VTHREAD: u64 = u64::MAX;
}
