//! The table of measures. A measure is a quantity that samples count, such as CPU time.
//!
//! CPU time is in a thread's samples. Each other measure is in the thread's amounts. To add a
//! measure, write its row here and call `Recording::amount` where the event is recorded.

use std::fmt;

use crate::ids::{ContextId, StackId};

/// A quantity that samples count, such as CPU time.
pub struct Measure {
    /// The measure's name in files and options: one word.
    pub key: &'static str,
    /// The measure's name for users.
    pub name: &'static str,
    pub unit: MeasureUnit,
    /// The key of the table with the measure's samples in a track of the front-end's profile.
    pub table: &'static str,
    /// The names and units of the measure's values in pprof, which are Go's where Go has them. The
    /// last value is the amount. The one before it, if there is one, is the number of events. Empty
    /// if the recording's clock decides.
    pub pprof: &'static [(&'static str, &'static str)],
}

/// The unit of a measure's amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureUnit {
    /// Intervals of the recording's clock. The amount is a sample's weight.
    Intervals,
    Bytes,
    Nanoseconds,
    /// A number of events.
    Count,
}

/// The measure "CPU time". It is the time of another clock if the recording's samples were taken by
/// that clock.
pub static CPU: Measure =
    Measure { key: "cpu", name: "CPU time", unit: MeasureUnit::Intervals, table: "samples", pprof: &[] };

/// The measure "allocated bytes": bytes on the Java heap, by stack and class. The class is the
/// leaf.
pub static ALLOCATED: Measure = Measure {
    key: "alloc",
    name: "allocated bytes",
    unit: MeasureUnit::Bytes,
    table: "jsAllocations",
    pprof: &[("alloc_objects", "count"), ("alloc_space", "bytes")],
};

/// The measure "live bytes": allocated bytes of objects that have survived a collection and are
/// still alive. The class is the leaf.
pub static LIVE: Measure = Measure {
    key: "live",
    name: "live bytes",
    unit: MeasureUnit::Bytes,
    table: "vouchLiveObjects",
    pprof: &[("inuse_objects", "count"), ("inuse_space", "bytes")],
};

/// The measure "wall-clock time": the time that threads spent running, ready to run or waiting. The
/// leaf of a stack that waits is its [`WaitState`](crate::WaitState).
pub static WALL_CLOCK: Measure = Measure {
    key: "wall",
    name: "wall-clock time",
    unit: MeasureUnit::Nanoseconds,
    table: "vouchWallClock",
    pprof: &[("wall_events", "count"), ("wall", "nanoseconds")],
};

/// The measure "time blocked on locks": the time for which threads waited for monitors and for
/// locks of `java.util.concurrent`. The leaf of a stack is the class of the lock.
pub static BLOCKED: Measure = Measure {
    key: "lock",
    name: "time blocked on locks",
    unit: MeasureUnit::Nanoseconds,
    table: "vouchLocks",
    pprof: &[("contentions", "count"), ("delay", "nanoseconds")],
};

/// The measure "exceptions": the exceptions that were created. The leaf of a stack is the class of
/// the exception.
pub static EXCEPTIONS: Measure = Measure {
    key: "exception",
    name: "exceptions",
    unit: MeasureUnit::Count,
    table: "vouchExceptions",
    pprof: &[("exceptions", "count")],
};

/// All measures, in the order in which texts list them.
pub static MEASURES: [&Measure; 6] = [&CPU, &ALLOCATED, &LIVE, &WALL_CLOCK, &BLOCKED, &EXCEPTIONS];

impl MeasureUnit {
    /// Returns the unit's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intervals => "intervals",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "nanoseconds",
            Self::Count => "count",
        }
    }
}

impl Measure {
    /// Returns the measures that are in a thread's amounts: all but CPU time.
    pub fn others() -> impl Iterator<Item = &'static Self> {
        MEASURES.into_iter().filter(|measure| **measure != CPU)
    }

    /// True if the number of events means something. CPU samples are counted by themselves, and the
    /// number of looks at a waiting thread says nothing.
    pub fn has_event_counts(&self) -> bool {
        *self != CPU && *self != WALL_CLOCK
    }

    /// Returns the measure with this key, or `None` if there is no such measure.
    pub fn from_key(key: &str) -> Option<&'static Self> {
        MEASURES.into_iter().find(|measure| measure.key == key)
    }
}

impl Default for &'static Measure {
    fn default() -> Self {
        &CPU
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Measure {}

impl fmt::Debug for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

/// A sample of a measure other than CPU time. Its mode and trust are those of its stack's leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// The time of the event: CLOCK_MONOTONIC, in nanoseconds.
    pub time_ns: u64,
    pub stack: StackId,
    /// The amount that the sample counts for, in the measure's unit.
    pub amount: u64,
    /// The number of events that the sample counts for.
    pub events: u64,
    /// The context that the program had set for the thread.
    pub context: Option<ContextId>,
}

/// A thread's amounts, by measure.
#[derive(Debug, Clone, Default)]
pub struct Amounts(Vec<(&'static Measure, Vec<Amount>)>);

impl Amounts {
    pub(crate) fn add(&mut self, measure: &'static Measure, amount: Amount) {
        match self.0.iter_mut().find(|(known, _)| *known == measure) {
            Some((_, amounts)) => amounts.push(amount),
            None => self.0.push((measure, vec![amount])),
        }
    }

    /// Removes the amounts of one measure.
    pub(crate) fn remove(&mut self, measure: &Measure) {
        self.0.retain(|(known, _)| *known != measure);
    }

    /// Returns the measures that have amounts. Each comes with its amounts, in the order in which
    /// they were recorded.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Measure, &[Amount])> {
        self.0.iter().map(|(measure, amounts)| (*measure, &amounts[..]))
    }

    /// Returns the amounts of one measure, in the order in which they were recorded.
    pub fn get(&self, measure: &Measure) -> &[Amount] {
        self.iter().find(|(known, _)| *known == measure).map_or(&[], |(_, amounts)| amounts)
    }

    /// Returns the memory that the amounts take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(_, amounts)| amounts.capacity() * size_of::<Amount>()).sum()
    }
}
