//! The threads that samples and events are of, as the session knows them.

#[cfg(test)]
pub mod fake;

use std::fmt::Debug;

use vouch_sample::Head;

/// One thread of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// The number of the thread. It is never used again.
    pub serial: u32,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The thread's start or the recording's, by CLOCK_MONOTONIC in nanoseconds.
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

/// A thread's names, and its CPU time under each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTimes {
    pub thread: Thread,
    /// The thread's end, by CLOCK_MONOTONIC in nanoseconds.
    pub ended: Option<u64>,
    /// The names with their CPU time in nanoseconds. There is at least one, even if it is unknown.
    pub names: Vec<(String, u64)>,
}

/// How a thread began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStart {
    /// The address of the start routine, if the agent saw the thread's creation.
    pub routine: Option<usize>,
    pub first_name: String,
}

/// A thread's intervals for which no signal was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsignalled {
    pub tid: u32,
    pub serial: u32,
    /// The number of intervals.
    pub weight: u32,
    /// The time up to which they were due, by CLOCK_MONOTONIC in nanoseconds.
    pub time: u64,
    /// The thread's CPU clock up to which they were due, in nanoseconds.
    pub cpu: u64,
    pub is_java: bool,
}

/// What the stages ask the session about threads. A thread is found by its serial.
pub trait Threads: Debug + Sync {
    /// Returns the thread of a sample under the name that it had then. It also records the sample's
    /// reading of the thread's CPU clock.
    fn at_sample(&self, head: &Head) -> Option<NamedThread>;

    /// Returns a thread under the name that it had at a time.
    fn at(&self, serial: u32, time: u64) -> Option<NamedThread>;

    /// Returns how a thread began.
    fn start(&self, serial: u32) -> Option<ThreadStart>;

    /// Visits all threads of the recording, in the order in which they began.
    fn each(&self, visit: &mut dyn FnMut(&ThreadTimes));

    /// Removes the threads that ended before `time`, in nanoseconds, and returns them.
    fn take_ended(&self, time: u64) -> Vec<ThreadTimes>;
}
