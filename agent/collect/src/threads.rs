//! The threads to which samples and events belong, as the session reports them to the stages.

#[cfg(test)]
pub mod fake;

use std::fmt::Debug;

use vouch_sample::Head;

/// One thread of the process, as the session has registered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// The agent's number of the thread. It is never used again.
    pub serial: u32,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The time of the thread's start or of the recording's, by CLOCK_MONOTONIC in nanoseconds.
    pub started: u64,
    pub is_java: bool,
    /// True for the agent's own threads, which no profile shows.
    pub is_own: bool,
    /// True once the engine was armed for the thread.
    pub is_sampled: bool,
}

/// A thread under the name that it had at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedThread {
    pub thread: Thread,
    /// The index of the name in the thread's list of names.
    pub name_index: usize,
    pub name: String,
}

/// The names that a thread has had, and its CPU time under each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTimes {
    pub thread: Thread,
    /// The time of the thread's end, by CLOCK_MONOTONIC in nanoseconds. `None` while it runs.
    pub ended: Option<u64>,
    /// The thread's names with the CPU time under each, in nanoseconds. There is at least one, even
    /// if it is unknown.
    pub names: Vec<(String, u64)>,
}

/// The way in which a thread began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStart {
    /// The address of the thread's start routine, if the agent saw the thread's creation.
    pub routine: Option<usize>,
    pub first_name: String,
}

/// The questions about threads that the stages ask the session. A thread is found by its serial.
pub trait Threads: Debug + Sync {
    /// Returns the thread of a sample under the name that it had then. It also records the sample's
    /// reading of the thread's CPU clock.
    fn at_sample(&self, head: &Head) -> Option<NamedThread>;

    /// Returns a thread under the name that it had at a time.
    fn at(&self, serial: u32, time: u64) -> Option<NamedThread>;

    /// Returns the way in which a thread began.
    fn start(&self, serial: u32) -> Option<ThreadStart>;

    /// Visits all threads of the recording, in the order in which they began.
    fn each(&self, visit: &mut dyn FnMut(&ThreadTimes));

    /// Visits all threads as [`Self::each`] does. From then on their CPU times and names are those
    /// of a period that begins at `time`, in nanoseconds.
    fn begin_period(&self, time: u64, visit: &mut dyn FnMut(&ThreadTimes));

    /// Removes the threads that had ended at `time`, in nanoseconds, and returns them.
    fn take_ended(&self, time: u64) -> Vec<ThreadTimes>;
}
