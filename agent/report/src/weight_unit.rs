//! The unit of samples' weights: a time, or a number of events.
//!
//! A time of an unknown clock must never be called CPU time. Counts of an event must never be shown
//! as a time.

use std::borrow::Cow;

use crate::clock::Clock;
use crate::report::TrustReport;
use crate::text::plain;
use crate::time::float;

/// The name of what the weights of Vouch's own samples count.
pub const CPU_TIME: &str = "CPU time";

impl TrustReport {
    /// Sets the clock or the event by which another profiler took the samples. If an event is set,
    /// all times become null, because the samples count no time.
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

    /// Returns the name of what the samples' weights count. For another profiler with an unknown
    /// clock the name is just "time".
    pub fn time(&self) -> Cow<'static, str> {
        match (&self.event, self.clock, &self.run.recorder) {
            (Some(event), _, _) => format!("samples of {}", plain(event)).into(),
            (None, Some(Clock::Wall), _) => "wall-clock time".into(),
            (None, Some(Clock::Cpu), _) | (None, None, None) => CPU_TIME.into(),
            (None, None, Some(_)) => "time".into(),
        }
    }

    /// Returns the milliseconds that one unit of weight stands for. Returns `None` if weights count
    /// no time.
    pub fn interval_ms(&self) -> Option<f64> {
        self.event.is_none().then(|| float(self.run.interval_ns) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_clock_gives_a_time_its_name() {
        let time = |clock, recorder: Option<&str>| {
            let mut report = TrustReport { clock, ..TrustReport::default() };
            report.run.recorder = recorder.map(str::to_owned);
            // The report is serialised and read back, because readers of a profile deserialise it.
            let text = serde_json::to_string(&report).unwrap();
            serde_json::from_str::<TrustReport>(&text).unwrap().time()
        };
        assert_eq!(time(None, None), "CPU time", "Vouch's own");
        assert_eq!(time(Some(Clock::Cpu), Some("async-profiler")), "CPU time");
        assert_eq!(time(Some(Clock::Wall), Some("async-profiler")), "wall-clock time");
        assert_eq!(time(None, Some("Flight Recorder")), "time");
    }

    #[test]
    fn counts_of_an_event_have_no_time() {
        let report = TrustReport { weight_ms: Some(crate::Signals::default()), ..TrustReport::default() };
        let by = |event: Option<&str>| report.clone().taken_by(None, event.map(str::to_owned));
        let counts = by(Some("cache-\u{1b}misses"));
        assert_eq!(counts.time(), "samples of cache-\u{fffd}misses");
        assert_eq!((counts.interval_ms(), by(None).interval_ms()), (None, Some(0.0)));
        let json = serde_json::to_value(&counts).unwrap();
        assert!(json["weight_ms"].is_null() && json["contexts"]["without_ms"].is_null(), "{json}");
        assert!(by(None).weight_ms.is_some());
    }
}
