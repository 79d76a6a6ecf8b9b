//! Lists the ways to record. The stacks of each are audited.

use std::path::Path;

use clap::ValueEnum;

/// A profiler with one of its walkers. They are in the order of the tables' rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Recorder {
    /// The Flight Recorder's events with true stacks: a refutation is a false alarm
    True,
    /// The Flight Recorder's samplers
    Jfr,
    /// async-profiler with its own walker
    Vm,
    /// async-profiler with AsyncGetCallTrace and native frames
    Fp,
    /// async-profiler with AsyncGetCallTrace alone
    No,
    /// Vouch
    Vouch,
}

impl Recorder {
    /// Returns the name in options and in the names of files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::Jfr => "jfr",
            Self::Vm => "vm",
            Self::Fp => "fp",
            Self::No => "no",
            Self::Vouch => "vouch",
        }
    }

    /// Returns the name in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::True => "True stacks",
            Self::Jfr => "Flight Recorder's samplers",
            Self::Vm => "async-profiler, its own walker (`cstack=vm`, its default)",
            Self::Fp => "async-profiler, AsyncGetCallTrace (`cstack=fp`)",
            Self::No => "async-profiler, AsyncGetCallTrace (`cstack=no`)",
            Self::Vouch => "Vouch",
        }
    }

    /// True if the recorder is async-profiler.
    pub const fn is_async_profiler(self) -> bool {
        matches!(self, Self::Vm | Self::Fp | Self::No)
    }

    /// Returns the JVM's options that write this recording, but for Vouch.
    pub fn options(self, recording: &Path, async_profiler: &str) -> Vec<String> {
        let recording = recording.display();
        let flight_recorder = |settings: &str| {
            vec![
                "-XX:FlightRecorderOptions=stackdepth=2048".to_owned(),
                format!(
                    "-XX:StartFlightRecording=filename={recording},settings=java-tests/workloads/{settings}"
                ),
            ]
        };
        match self {
            Self::True => flight_recorder("true.jfc"),
            Self::Jfr => flight_recorder("samples.jfc"),
            Self::Vm | Self::Fp | Self::No => vec![format!(
                "-agentpath:{async_profiler}=start,event=cpu,interval=1ms,cstack={},jstackdepth=2048,jfr,file={recording}",
                self.name()
            )],
            Self::Vouch => Vec::new(),
        }
    }
}
