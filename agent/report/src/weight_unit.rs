//! What samples' weights count.
//!
//! It must never call a time CPU time that may be another, or have counts of another event for a
//! time.

use std::borrow::Cow;

use crate::clock::Clock;
use crate::report::TrustReport;
use crate::text::plain;
use crate::time::float;

/// What the weights of Vouch's own samples count.
pub const CPU_TIME: &str = "CPU time";

impl TrustReport {
    /// The same of samples that another profiler has taken by this clock, or by an event that is no
    /// time: then none of its figures is one.
    #[must_use]
    pub fn taken_by(mut self, clock: Option<Clock>, event: Option<String>) -> Self {
        if event.is_some() {
            self.weight_ms = None;
            self.top_frame = self.top_frame.without_time();
            self.contexts.without_ms = None;
            self.threads.iter_mut().for_each(|thread| thread.sampled_ms = None);
        }
        Self { clock, event, ..self }
    }

    /// What its samples' weights count, in words: of another profiler's what is told of its clock,
    /// and no more.
    pub fn time(&self) -> Cow<'static, str> {
        match (&self.event, self.clock, &self.run.recorder) {
            (Some(event), _, _) => format!("samples of {}", plain(event)).into(),
            (None, Some(Clock::Wall), _) => "wall-clock time".into(),
            (None, Some(Clock::Cpu), _) | (None, None, None) => CPU_TIME.into(),
            (None, None, Some(_)) => "time".into(),
        }
    }

    /// For so many milliseconds a weight of one stands; `None`: for no time.
    pub fn interval_ms(&self) -> Option<f64> {
        self.event.is_none().then(|| float(self.run.interval_ns) / 1e6)
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

    #[test]
    fn what_counts_another_event_is_no_time() {
        let report = TrustReport { weight_ms: Some(crate::Signals::default()), ..TrustReport::default() };
        let by = |event: Option<&str>| report.clone().taken_by(None, event.map(str::to_owned));
        let counts = by(Some("cache-\u{1b}misses"));
        assert_eq!(counts.time(), "samples of cache-\u{fffd}misses");
        assert_eq!((counts.interval_ms(), by(None).interval_ms()), (None, Some(0.0)));
        let told = serde_json::to_value(&counts).unwrap();
        assert!(told["weight_ms"].is_null() && told["contexts"]["without_ms"].is_null(), "{told}");
        assert!(by(None).weight_ms.is_some());
    }
}
