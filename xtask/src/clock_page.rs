//! The table of docs/jfr-clock.md: how far JFR events were off in merged profiles, against what the
//! merge states.

use std::path::{Path, PathBuf};

use vouch_report::grouped;

use crate::merged::{Marker, markers};
use crate::report::{json, table};

/// The events that say themselves when they were, by System.nanoTime.
const KIND: &str = "jfr.vouch.Clock";
/// A profile's times are whole microseconds.
const ROUNDED_MS: f64 = 0.001;

/// The table of these merged profiles, each named after its JDK.
pub fn page(files: &[PathBuf]) -> Result<String, String> {
    let mut runs: Vec<Run> = files.iter().map(|file| Run::read(file)).collect::<Result<_, _>>()?;
    runs.sort_by_key(|run| (run.major, run.pauses == 0));
    let head = [
        "JDK",
        "pauses",
        "waits",
        "drift, µs a minute",
        "time of day off by, µs",
        "stated, µs",
        "events",
        "within it, %",
        "the farthest off, µs",
    ];
    Ok(table(&head, runs.iter().map(Run::row)))
}

struct Run {
    major: u32,
    pauses: u64,
    waits: u64,
    drift_us: f64,
    offset_us: f64,
    stated_us: f64,
    /// How far the two ends of each event lie outside of what the program read on both sides of
    /// them, in milliseconds; in order.
    off_ms: Vec<f64>,
}

impl Run {
    fn read(file: &Path) -> Result<Self, String> {
        let wrong = |why: &str| format!("{}: {why}", file.display());
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let major = name.split('.').next().and_then(|major| major.parse().ok());
        let major = major.ok_or_else(|| wrong("its name does not begin with a JDK's version"))?;
        let profile = json(file)?;
        let clock = &profile["meta"]["vouchMerged"][0]["clock"];
        let figure = |key: &str| clock[key].as_f64().ok_or_else(|| wrong("it is no merged profile"));
        let mut run = Self {
            major,
            pauses: clock["pauses"].as_u64().unwrap_or(0),
            waits: clock["waits"].as_u64().unwrap_or(0),
            drift_us: figure("drift_ns_a_minute")? / 1e3,
            offset_us: figure("offset_ns")? / 1e3,
            stated_us: figure("uncertainty_ns")? / 1e3,
            off_ms: Vec::new(),
        };
        for Marker { start_ms, end_ms, data } in
            markers(&profile).filter(|marker| marker.data["type"] == KIND)
        {
            for (time, before, after) in [(start_ms, "before", "began"), (end_ms, "ending", "ended")] {
                let times = [time, data[before].as_f64(), data[after].as_f64()];
                let [Some(time), Some(before), Some(after)] = times else {
                    return Err(wrong("an event without its times"));
                };
                run.off_ms.push((before / 1e6 - time).max(time - after / 1e6).max(0.0));
            }
        }
        run.off_ms.sort_by(f64::total_cmp);
        if run.off_ms.is_empty() { Err(wrong("it has no event of Clock's")) } else { Ok(run) }
    }

    fn row(&self) -> Vec<String> {
        let within = self.off_ms.partition_point(|off| *off <= self.stated_us / 1e3 + ROUNDED_MS);
        // Never rounded up.
        let share = within * 100_000 / self.off_ms.len();
        let most = self.off_ms.last().copied().unwrap_or(0.0) * 1e3;
        vec![
            self.major.to_string(),
            grouped(self.pauses),
            grouped(self.waits),
            format!("{:+.1}", self.drift_us),
            format!("{:+.0}", self.offset_us),
            format!("{:.1}", self.stated_us),
            grouped(self.off_ms.len() as u64 / 2),
            format!("{}.{:03}", share / 1_000, share % 1_000),
            format!("{most:.1}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_the_events_that_are_further_off_than_stated() {
        let off_ms = (0..1_000).map(|row| if row < 998 { 0.004 } else { 1.0 }).collect();
        let run = Run {
            major: 25,
            pauses: 1_234,
            waits: 9,
            drift_us: -3.25,
            offset_us: 7.0,
            stated_us: 4.0,
            off_ms,
        };
        assert_eq!(run.row(), ["25", "1,234", "9", "-3.2", "+7", "4.0", "500", "99.800", "1000.0"]);
    }
}
