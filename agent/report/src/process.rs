//! The CPU time of the process that no sample shows: that of Vouch itself, and of what ran while it
//! was not sampled.

use std::fmt::Write as _;

use crate::report::TrustReport;
use crate::text::percent;

/// Less than this part of the process's time is not worth a line, in per cent.
const WORTH_A_LINE: f64 = 0.05;

impl TrustReport {
    /// A line that accounts for the whole of the process's CPU time; `None` if that is not known.
    pub fn process_time(&self) -> Option<String> {
        let (process, own) = (self.run.cpu_ms?, self.run.agent_cpu_ms?);
        if process <= 0.0 {
            return None;
        }
        let share = |ms: f64| percent(100.0 * ms / process);
        let sampled = self.weight_ms.map_or(self.conservation.sampled_ms, |weight| weight.signals);
        let mut line = format!(
            "all CPU time: {process:.0} ms = {sampled:.0} ms sampled + {own:.0} ms ({}) in Vouch's own threads",
            share(own)
        );
        let rest = process - sampled - own;
        if 100.0 * rest.abs() >= WORTH_A_LINE * process {
            let (sign, what) = if rest < 0.0 { ('-', "more than was charged") } else { ('+', "not sampled") };
            let _ = write!(line, " {sign} {:.0} ms ({}) {what}", rest.abs(), share(rest.abs()));
        }
        if let Some(handler) = &self.run.handler_ns {
            let _ =
                write!(line, "; {:.0} ms of what is sampled was in Vouch's signal handler", handler.total_ms);
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HandlerTime;
    use crate::proof::Conservation;

    fn line(process: f64, sampled: f64, own: f64) -> Option<String> {
        let mut report = TrustReport::default();
        report.run.cpu_ms = Some(process);
        report.run.agent_cpu_ms = Some(own);
        report.conservation = Conservation::of(sampled, sampled);
        report.run.handler_ns = Some(HandlerTime { p50: 1, p90: 1, p99: 1, max: 1, total_ms: 12.4 });
        report.process_time()
    }

    #[test]
    fn the_whole_process_is_accounted_for() {
        let all = line(1_000.0, 940.0, 40.0).unwrap();
        assert_eq!(
            all,
            "all CPU time: 1000 ms = 940 ms sampled + 40 ms (4.0 %) in Vouch's own threads + 20 ms (2.0 %) not sampled; \
             12 ms of what is sampled was in Vouch's signal handler"
        );
        assert!(!line(1_000.0, 960.0, 40.0).unwrap().contains("not sampled"));
        assert!(line(1_000.0, 970.0, 40.0).unwrap().contains(" - 10 ms (1.0 %) more than was charged"));
        assert_eq!(line(0.0, 0.0, 0.0), None);
    }
}
