//! What samples' weights count.
//!
//! It must never call a time CPU time that may be another.

use serde::{Deserialize, Serialize};

use crate::report::TrustReport;

/// What the weights of Vouch's own samples count.
pub const CPU_TIME: &str = "CPU time";

/// By which another profiler has sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    Cpu,
    /// A thread that waits has samples, too.
    Wall,
}

impl TrustReport {
    /// What its samples' weights count, in words: of another profiler's what is told of its clock, and no more.
    pub fn time(&self) -> &'static str {
        match (self.clock, &self.run.recorder) {
            (Some(Clock::Wall), _) => "wall-clock time",
            (Some(Clock::Cpu), _) | (None, None) => CPU_TIME,
            (None, Some(_)) => "time",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_called_what_it_is_known_to_be() {
        let time = |clock, recorder: Option<&str>| {
            let mut report = TrustReport { clock, ..TrustReport::default() };
            report.run.recorder = recorder.map(str::to_owned);
            // As a profile's reader has it.
            let text = serde_json::to_string(&report).unwrap();
            serde_json::from_str::<TrustReport>(&text).unwrap().time()
        };
        assert_eq!(time(None, None), "CPU time", "Vouch's own");
        assert_eq!(time(Some(Clock::Cpu), Some("async-profiler")), "CPU time");
        assert_eq!(time(Some(Clock::Wall), Some("async-profiler")), "wall-clock time");
        assert_eq!(time(None, Some("Flight Recorder")), "time");
    }
}
