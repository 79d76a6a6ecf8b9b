//! Divides the CPU time of the recorded process into sampled time, time of Vouch's own threads, and
//! the rest.
//!
//! The signal handler's time must not be added to the samples. The kernel charges it to the
//! interrupted thread, so the samples of that thread already contain it.

use serde::Serialize;

use crate::report::TrustReport;
use crate::text::percent;

/// The lines for people omit a part of the time that is below this percentage.
const MIN_PERCENT: f64 = 0.05;

/// The CPU time of a process, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProcessTime {
    /// All CPU time that the kernel charged to the process during the recording.
    pub cpu_ms: f64,
    /// The time of the samples that the profile shows.
    pub sampled_ms: f64,
    /// The time of Vouch's own threads, which are not sampled.
    pub vouch_ms: f64,
    /// The CPU time that was neither sampled nor Vouch's own. It is negative if the samples count
    /// more time than the kernel charged.
    pub not_sampled_ms: f64,
    /// The part of `sampled_ms` that Vouch's signal handler took. `None` if it was not measured.
    pub handler_ms: Option<f64>,
}

impl TrustReport {
    /// Divides the CPU time of the process. `None` if that time is unknown, as in another
    /// profiler's recording.
    pub fn process_time(&self, sampled_ms: f64) -> Option<ProcessTime> {
        let (cpu_ms, vouch_ms) = (self.run.cpu_ms?, self.run.agent_cpu_ms?);
        let handler_ms = self.run.handler_ns.as_ref().map(|handler| handler.total_ms);
        let not_sampled_ms = cpu_ms - sampled_ms - vouch_ms;
        (cpu_ms > 0.0).then_some(ProcessTime { cpu_ms, sampled_ms, vouch_ms, not_sampled_ms, handler_ms })
    }
}

impl ProcessTime {
    /// Returns one line that divides the process's time, and one about the signal handler's share
    /// of the sampled time.
    pub fn lines(&self) -> Vec<String> {
        let Self { cpu_ms, sampled_ms, vouch_ms, not_sampled_ms, handler_ms } = *self;
        let amount = |ms| amount(ms, cpu_ms);
        let part = |ms: f64, all_ms: f64| format!("{} ({})", amount(ms), percent(100.0 * ms / all_ms));
        let is_shown = |ms: f64, all_ms: f64| 100.0 * ms >= MIN_PERCENT * all_ms;
        let rest = if !is_shown(not_sampled_ms.abs(), cpu_ms) {
            String::new()
        } else if not_sampled_ms < 0.0 {
            format!("; {} too much", part(-not_sampled_ms, cpu_ms))
        } else {
            format!(", {} not sampled", part(not_sampled_ms, cpu_ms))
        };
        let (all, sampled, own) = (amount(cpu_ms), amount(sampled_ms), part(vouch_ms, cpu_ms));
        let mut lines = vec![format!("process CPU time {all}: {sampled} sampled, {own} [Vouch]{rest}")];
        lines.extend(handler_ms.filter(|ms| is_shown(*ms, sampled_ms)).map(|ms| {
            let part = part(ms, sampled_ms);
            format!("Vouch's signal handler: {part} of the sampled time, in the rows of what it interrupted")
        }));
        lines
    }
}

/// Formats a time in the unit that suits `all_ms`. All parts of a line then have the same unit, so
/// a reader can add them up.
fn amount(ms: f64, all_ms: f64) -> String {
    match all_ms {
        _ if all_ms < 100.0 => format!("{ms:.1} ms"),
        _ if all_ms < 10_000.0 => format!("{ms:.0} ms"),
        _ if all_ms < 100_000.0 => format!("{:.2} s", ms / 1000.0),
        _ if all_ms < 1_000_000.0 => format!("{:.1} s", ms / 1000.0),
        _ => format!("{:.0} s", ms / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HandlerTime;

    fn time(cpu_ms: f64, sampled_ms: f64, vouch_ms: f64, handler_ms: f64) -> Option<ProcessTime> {
        let mut report = TrustReport::default();
        report.run.cpu_ms = Some(cpu_ms);
        report.run.agent_cpu_ms = Some(vouch_ms);
        report.run.handler_ns = Some(HandlerTime { p50: 1, p90: 1, p99: 1, max: 1, total_ms: handler_ms });
        report.process_time(sampled_ms)
    }

    fn lines(cpu_ms: f64, sampled_ms: f64, vouch_ms: f64, handler_ms: f64) -> Vec<String> {
        time(cpu_ms, sampled_ms, vouch_ms, handler_ms).unwrap().lines()
    }

    #[test]
    fn the_whole_process_is_accounted_for() {
        assert_eq!(
            lines(12_310.0, 11_900.0, 250.0, 119.0),
            [
                "process CPU time 12.31 s: 11.90 s sampled, 0.25 s (2.0 %) [Vouch], 0.16 s (1.3 %) not sampled",
                "Vouch's signal handler: 0.12 s (1.0 %) of the sampled time, in the rows of what it interrupted",
            ]
        );
        let nothing_is_missing = "process CPU time 1000 ms: 960 ms sampled, 40 ms (4.0 %) [Vouch]";
        assert_eq!(lines(1_000.0, 960.0, 40.0, 0.1), [nothing_is_missing]);
        let too_much =
            "process CPU time 1000 ms: 970 ms sampled, 40 ms (4.0 %) [Vouch]; 10 ms (1.0 %) too much";
        assert_eq!(lines(1_000.0, 970.0, 40.0, 0.0), [too_much]);
    }

    #[test]
    fn handlers_are_a_part_of_the_samples_and_not_of_the_rest() {
        let time = time(1_000.0, 940.0, 40.0, 12.0).unwrap();
        assert!(
            (time.sampled_ms + time.vouch_ms + time.not_sampled_ms - time.cpu_ms).abs() < 1e-9,
            "{time:?}"
        );
        assert_eq!((time.not_sampled_ms, time.handler_ms), (20.0, Some(12.0)));
    }

    #[test]
    fn no_line_is_wider_than_a_hundred_columns() {
        for cpu_ms in [99.9, 9_999.0, 99_999.0, 999_999.0, 90_000_000.0] {
            for (sampled, vouch, handler) in [(0.5, 0.2, 0.3), (0.9, 0.3, 0.4), (1.0, 0.0, 0.0)] {
                for line in lines(cpu_ms, sampled * cpu_ms, vouch * cpu_ms, handler * cpu_ms) {
                    assert!(line.chars().count() <= 100, "{line}");
                }
            }
        }
    }

    #[test]
    fn an_unmeasured_process_has_no_lines() {
        assert_eq!(time(0.0, 0.0, 0.0, 0.0), None);
        assert_eq!(TrustReport::default().process_time(10.0), None);
    }
}
