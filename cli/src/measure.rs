//! What `vouch top`, `flame` and `diff` count: CPU time, or another measure such as allocations.

use std::path::Path;

use clap::ValueEnum;
use vouch_recording::measures;

use crate::counted::Counted;
use crate::error::Error;

/// The measure that a profile is read for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// CPU time, or what else the profile's samples count
    #[default]
    Cpu,
    /// Allocated bytes, by stack and class; record them with events=alloc
    Alloc,
    /// Bytes of objects that survived a collection and are alive, by stack and class that allocated
    Live,
    /// Wall-clock time, with the state of threads that wait; record it with wall=on
    Wall,
    /// Time blocked on locks, by stack and class; record it with events=lock
    Lock,
    /// How often threads were blocked on locks
    LockCount,
    /// Exceptions, by stack and class; record them with events=exception
    Exception,
}

impl Measure {
    /// True if the samples count events, such as waits, and not their amounts.
    pub fn counts_events(self) -> bool {
        self == Self::LockCount
    }

    /// Returns what the samples count. Returns `None` for CPU time, which the report names.
    pub fn counted(self) -> Option<Counted> {
        match self {
            Self::Cpu => None,
            Self::Alloc => Some(Counted::ALLOCATED),
            Self::Live => Some(Counted::LIVE),
            Self::Wall => Some(Counted::WALL_CLOCK),
            Self::Lock => Some(Counted::BLOCKED),
            Self::LockCount => Some(Counted::WAITS_FOR_LOCKS),
            Self::Exception => Some(Counted::EXCEPTIONS),
        }
    }

    /// Returns the error for a profile without samples of this measure.
    pub fn missing(self, file: &Path) -> Error {
        let path = file.to_owned();
        match self {
            Self::Cpu => Error::NoTimeInPprof(path),
            Self::Alloc => Error::NoAllocations(path),
            Self::Live => Error::NoLiveObjects(path),
            Self::Wall => Error::NoWallClock(path),
            Self::Lock | Self::LockCount => Error::NoLocks(path),
            Self::Exception => Error::NoExceptions(path),
        }
    }

    /// Returns the measure as recordings have it.
    fn recorded(self) -> &'static vouch_recording::Measure {
        match self {
            Self::Cpu => &measures::CPU,
            Self::Alloc => &measures::ALLOCATED,
            Self::Live => &measures::LIVE,
            Self::Wall => &measures::WALL_CLOCK,
            Self::Lock | Self::LockCount => &measures::BLOCKED,
            Self::Exception => &measures::EXCEPTIONS,
        }
    }

    /// Returns the names and units of a pprof file's values that count the measure.
    pub fn in_pprof(self) -> Option<&'static [(&'static str, &'static str)]> {
        Some(self.recorded().pprof).filter(|types| !types.is_empty())
    }
}
