//! Lists the profilers that are compared with the programs' own clocks.

use std::str::FromStr;

use anyhow::{Error, anyhow};

/// A profiler, and whether only C1 compiles. They are in the order of the tables' rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profiler {
    Vouch,
    Async,
    Asgct,
    Jfr,
    VouchC1,
    AsyncC1,
}

impl Profiler {
    pub const ALL: [Self; 6] =
        [Self::Vouch, Self::Async, Self::Asgct, Self::Jfr, Self::VouchC1, Self::AsyncC1];

    /// Returns the name in the names of files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Async => "peer",
            Self::Asgct => "agct",
            Self::Jfr => "jfr",
            Self::VouchC1 => "vouch_c1",
            Self::AsyncC1 => "peer_c1",
        }
    }

    /// Returns the name in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Vouch => "Vouch",
            Self::Async => "async-profiler",
            Self::Asgct => "AsyncGetCallTrace (async-profiler, `cstack=no`)",
            Self::Jfr => "Flight Recorder",
            Self::VouchC1 => "Vouch, code of C1's alone",
            Self::AsyncC1 => "async-profiler, code of C1's alone",
        }
    }

    /// True if only C1 compiles.
    pub const fn is_c1_alone(self) -> bool {
        matches!(self, Self::VouchC1 | Self::AsyncC1)
    }

    /// True if the profiler runs on this JDK. Vouch and async-profiler run on all of them.
    pub const fn is_compared_on(self, major: u32) -> bool {
        match self {
            Self::Vouch | Self::Async => true,
            Self::Asgct | Self::Jfr => matches!(major, 17 | 25),
            Self::VouchC1 | Self::AsyncC1 => matches!(major, 8 | 25),
        }
    }
}

impl FromStr for Profiler {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|profiler| profiler.name() == name);
        found.ok_or_else(|| anyhow!("'{name}' is not the name of a profiler"))
    }
}
